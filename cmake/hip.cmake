# hipcc for the one file of kernels, and the HIP runtime for the rest. CMake's own HIP language wants a whole
# ROCm, which Debian's hipcc and libamdhip64-dev are not.

set(DLLAUNCH_HIP_ARCHITECTURES gfx90a CACHE STRING "AMD GPUs to compile kernels for: gfx90a;gfx908")

# dllaunch_hip_works(WORKS): a ROCm that compiles nothing (no device libraries, another libstdc++) is none.
function(dllaunch_hip_works works)
  if(NOT DEFINED CACHE{DLLAUNCH_HIP_WORKS})
    set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/hip_probe)
    file(WRITE ${probe}.cpp "#include <cmath>\n__global__ void probe(float* x) { *x = std::exp(*x); }\n")
    execute_process(COMMAND ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd ${HIPCC} -x hip -std=c++20
        --offload-arch=gfx90a -include hip/hip_runtime.h -c ${probe}.cpp -o ${probe}.o
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 120)
    string(COMPARE EQUAL "${failed}" 0 compiled)
    set(DLLAUNCH_HIP_WORKS ${compiled} CACHE INTERNAL "hipcc compiles a kernel")
  endif()
  set(${works} ${DLLAUNCH_HIP_WORKS} PARENT_SCOPE)
endfunction()

macro(dllaunch_enable_hip)
  dllaunch_read_version(${HIP_INCLUDE_DIR}/hip/hip_version.h
    "define HIP_VERSION_(MAJOR|MINOR|PATCH) " DLLAUNCH_HIP_VERSION)
  list(JOIN DLLAUNCH_HIP_ARCHITECTURES " " DLLAUNCH_HIP_TARGETS)
  add_library(dllaunch_hip_library INTERFACE)
  add_library(dllaunch::hip_library ALIAS dllaunch_hip_library)
  target_include_directories(dllaunch_hip_library SYSTEM INTERFACE ${HIP_INCLUDE_DIR})
  target_compile_definitions(dllaunch_hip_library INTERFACE __HIP_PLATFORM_AMD__)
  target_link_libraries(dllaunch_hip_library INTERFACE ${HIP_LIBRARY})
  dllaunch_capability(DLLAUNCH_HIP on
    "HIP ${DLLAUNCH_HIP_VERSION}; ${DLLAUNCH_HIP_TARGETS}; compiled for tests, dltrain has no hip backend yet")
endmacro()

# dllaunch_hip_object(SOURCE OBJECT): a rule that has hipcc compile it, device code included.
function(dllaunch_hip_object source object)
  set(flags -x hip -std=c++20 -O3 -fPIC -Wall -Wextra -Wconversion -Wshadow)
  if(DLLAUNCH_WERROR)
    list(APPEND flags -Werror)
  endif()
  foreach(architecture IN LISTS DLLAUNCH_HIP_ARCHITECTURES)
    list(APPEND flags --offload-arch=${architecture})
  endforeach()
  foreach(folder IN ITEMS "" /runtime/gpu /runtime/gpu/hip)
    list(APPEND flags -I${PROJECT_SOURCE_DIR}${folder})
  endforeach()
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd ${CMAKE_CXX_COMPILER_LAUNCHER} ${HIPCC} ${flags}
      -include hip/hip_runtime.h -MD -MF ${object}.d -MT ${object} -o ${object} -c ${source}
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "Compiling GPU kernels with hipcc: ${DLLAUNCH_HIP_TARGETS}" VERBATIM)
endfunction()
