# Compiles through ccache if it is installed and its cache is writable (a home may be read-only).
# Disable it with -DCMAKE_CXX_COMPILER_LAUNCHER=. Paths are relative to the clone, so that all
# clones and worktrees on a machine share one cache; run debuggers in the clone's root.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  set(ccache_status 1)
  if(CCACHE)
    execute_process(COMMAND ${CCACHE} --show-stats RESULT_VARIABLE ccache_status OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(ccache_status EQUAL 0)
    # ccache does not shorten an escaped path in a dependency file. Another clone that got such a file from the cache
    # would not see its own changes, so a clone whose path has a space shares nothing.
    set(ccache_namespace "")
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES " ")
      string(MD5 ccache_namespace "${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER "env;CCACHE_NAMESPACE=${ccache_namespace};CCACHE_BASEDIR=${CMAKE_CURRENT_SOURCE_DIR};CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_PCH_EXTSUM=1;${CCACHE}"
      CACHE STRING "what starts the compiler")
  endif()
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fdebug-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}=.>")
