# CUDA as a language, for the one file of kernels, and the GPUs it is compiled for.

# dllaunch_read_version(FILE REGEX VARIABLE): the numbers of the matching lines, "9.19.0".
function(dllaunch_read_version file regex variable)
  file(STRINGS ${file} lines REGEX "${regex}")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers "." version)
  set(${variable} ${version} PARENT_SCOPE)
endfunction()

set(DLLAUNCH_CUDA_ARCHITECTURES "" CACHE STRING
  "compute capabilities to compile for: 80;90, native (this machine's GPUs) or empty: a few with tests, else all")

# dllaunch_cuda_architectures(VARIABLE): as asked. A few: T4 75, A100 80, H100 90, and V100 70 before CUDA 13. All:
# what nvcc knows from Turing on (and V100). Code for 80 also runs on 86 and 89, but that of systems on a chip (87,
# 88, 110) is theirs alone.
function(dllaunch_cuda_architectures variable)
  execute_process(COMMAND ${NVCC} --list-gpu-code OUTPUT_VARIABLE codes)
  string(REGEX MATCHALL "[0-9]+" known "${codes}")
  list(SORT known COMPARE NATURAL)
  list(FILTER known EXCLUDE REGEX "^([1-6].|72)$")
  set(few 75 80 90)
  if("70" IN_LIST known)
    list(PREPEND few 70)
  endif()
  set(chosen ${DLLAUNCH_CUDA_ARCHITECTURES})
  if(chosen STREQUAL "native")
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE present ERROR_QUIET RESULT_VARIABLE failed)
    string(REGEX REPLACE "([0-9]+)\\.([0-9])[^0-9]*" "\\1\\2;" present "${present}")
    set(chosen "")
    foreach(target IN LISTS known)
      if(target IN_LIST present)
        list(APPEND chosen ${target})
      endif()
    endforeach()
  endif()
  if(NOT chosen AND (DLLAUNCH_TESTS OR DLLAUNCH_CUDA_ARCHITECTURES))
    set(chosen ${few})
  elseif(NOT chosen)
    set(chosen ${known})
  endif()
  set(${variable} ${chosen} PARENT_SCOPE)
endfunction()

macro(dllaunch_enable_cuda)
  set(CMAKE_CUDA_COMPILER ${NVCC})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
  dllaunch_cuda_architectures(targets)
  set(CMAKE_CUDA_ARCHITECTURES 80)  # for CMake's own checks; targets have their own list
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not know that nvcc has
                                                          # it
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  list(GET targets -1 newest)
  set(DLLAUNCH_CUDA_TARGETS "")
  foreach(target IN LISTS targets)
    list(APPEND DLLAUNCH_CUDA_TARGETS ${target}-real)
  endforeach()
  list(APPEND DLLAUNCH_CUDA_TARGETS ${newest}-virtual)
  dllaunch_read_version(${CUDNN_INCLUDE_DIR}/cudnn_version.h
    "define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]" CUDNN_VERSION)
  set(DLLAUNCH_CUDA_VERSIONS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}, cuDNN ${CUDNN_VERSION}")
  add_library(dllaunch_cuda_library INTERFACE)
  add_library(dllaunch::cuda_library ALIAS dllaunch_cuda_library)
  target_include_directories(dllaunch_cuda_library SYSTEM INTERFACE
    ${CUDA_RUNTIME_INCLUDE_DIR} ${CUDNN_INCLUDE_DIR})
  target_link_libraries(dllaunch_cuda_library INTERFACE
    ${CUDNN_LIBRARY} ${CUBLASLT_LIBRARY} ${CUDA_RUNTIME_LIBRARY})
  list(JOIN targets " sm_" names)
  dllaunch_capability(DLLAUNCH_CUDA on "${DLLAUNCH_CUDA_VERSIONS}; sm_${names} and PTX")
endmacro()
