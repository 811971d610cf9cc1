# Compiles through ccache where it is installed and can write its cache (a home may be read-only).
# -DCMAKE_CXX_COMPILER_LAUNCHER= does without.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  set(ccache_status 1)
  if(CCACHE)
    execute_process(COMMAND ${CCACHE} --show-stats RESULT_VARIABLE ccache_status OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(ccache_status EQUAL 0)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE} CACHE STRING "what starts the compiler")
  endif()
endif()
