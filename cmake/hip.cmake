# hipcc for the one file of kernels, and the HIP runtime for the rest. CMake's own HIP language
# needs a complete ROCm, which Debian's hipcc and libamdhip64-dev are not.

set(DLLAUNCH_HIP_ARCHITECTURES gfx90a CACHE STRING "AMD GPUs to compile kernels for: gfx90a;gfx908")

# dllaunch_hip_works(WORKS): false for a ROCm that cannot compile (no device libraries, another
# libstdc++).
function(dllaunch_hip_works works)
  if(NOT DEFINED CACHE{DLLAUNCH_HIP_WORKS})
    set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/hip_probe)
    file(WRITE ${probe}.cpp "#include <cmath>\n__global__ void probe(float* x) { *x = std::exp(*x); }\n")
    # It leaves an empty folder of temporary files.
    execute_process(COMMAND ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd TMPDIR=${PROJECT_BINARY_DIR}/CMakeFiles
        ${HIPCC} -x hip -std=c++20
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
  dllaunch_find_hip_math()
  if(DLLAUNCH_HIP_BACKEND)
    dllaunch_capability(DLLAUNCH_HIP on "${DLLAUNCH_HIP_VERSIONS}; ${DLLAUNCH_HIP_TARGETS}")
  else()
    dllaunch_capability(DLLAUNCH_HIP on
      "HIP ${DLLAUNCH_HIP_VERSION}; ${DLLAUNCH_HIP_TARGETS}; for tests alone: ${DLLAUNCH_HIP_BACKEND_OFF}")
  endif()
endmacro()

# MIOpen and rocBLAS, required by the backend. MIOpen names its solutions and can exclude
# nondeterministic ones since 2.18 (ROCm 5.3); rocBLAS accepts a workspace since 2.45.
macro(dllaunch_find_hip_math)
  find_path(MIOPEN_INCLUDE_DIR miopen/miopen.h HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES include)
  find_library(MIOPEN_LIBRARY MIOpen HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES lib)
  find_path(ROCBLAS_INCLUDE_DIR rocblas/rocblas.h HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES include)
  find_library(ROCBLAS_LIBRARY rocblas HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES lib)
  set(missing "")
  foreach(piece IN ITEMS MIOPEN_INCLUDE_DIR MIOPEN_LIBRARY ROCBLAS_INCLUDE_DIR ROCBLAS_LIBRARY)
    if(NOT ${piece})
      string(APPEND missing " ${piece}")
    endif()
  endforeach()
  set(DLLAUNCH_HIP_BACKEND OFF)
  set(DLLAUNCH_HIP_BACKEND_OFF "not found:${missing}; set ROCM_PATH")
  if(NOT missing)
    dllaunch_read_version(${MIOPEN_INCLUDE_DIR}/miopen/version.h
      "define MIOPEN_VERSION_(MAJOR|MINOR|PATCH) " MIOPEN_VERSION)
    dllaunch_read_version(${ROCBLAS_INCLUDE_DIR}/rocblas/internal/rocblas-version.h
      "define ROCBLAS_VERSION_(MAJOR|MINOR|PATCH) " ROCBLAS_VERSION)
    set(DLLAUNCH_HIP_VERSIONS
      "HIP ${DLLAUNCH_HIP_VERSION}, MIOpen ${MIOPEN_VERSION}, rocBLAS ${ROCBLAS_VERSION}")
    if(MIOPEN_VERSION VERSION_LESS 2.18 OR ROCBLAS_VERSION VERSION_LESS 2.45)
      set(DLLAUNCH_HIP_BACKEND_OFF "${DLLAUNCH_HIP_VERSIONS}: needed are MIOpen 2.18 and rocBLAS 2.45")
    else()
      set(DLLAUNCH_HIP_BACKEND ON)
      add_library(dllaunch_hip_math INTERFACE)
      add_library(dllaunch::hip_math ALIAS dllaunch_hip_math)
      target_include_directories(dllaunch_hip_math SYSTEM INTERFACE
        ${MIOPEN_INCLUDE_DIR} ${ROCBLAS_INCLUDE_DIR})
      target_link_libraries(dllaunch_hip_math INTERFACE ${MIOPEN_LIBRARY} ${ROCBLAS_LIBRARY})
    endif()
  endif()
endmacro()

# dllaunch_hip_object(SOURCE OBJECT): a rule that compiles with hipcc, including device code.
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
    COMMAND ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd TMPDIR=${PROJECT_BINARY_DIR}/CMakeFiles
            ${CMAKE_CXX_COMPILER_LAUNCHER} ${HIPCC} ${flags}
      -include hip/hip_runtime.h -MD -MF ${object}.d -MT ${object} -o ${object} -c ${source}
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "Compiling GPU kernels with hipcc: ${DLLAUNCH_HIP_TARGETS}" VERBATIM)
endfunction()
