# Functions used by every CMakeLists.txt of this project. Targets only, no globbing: the source list
# of a folder is its table of contents.

add_library(dllaunch_warnings INTERFACE)
add_library(dllaunch::warnings ALIAS dllaunch_warnings)
target_compile_options(dllaunch_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${DLLAUNCH_WERROR}>:-Werror>
  # g++ 12 warns of overlapping copies when it inlines `"text" + std::string` (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# dllaunch_library(NAME SOURCES a.cpp ... [LINK targets ...])
# A static library dllaunch_NAME, used as dllaunch::NAME. Headers are found from the repository's root.
function(dllaunch_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(dllaunch_${name} STATIC ${ARG_SOURCES})
  add_library(dllaunch::${name} ALIAS dllaunch_${name})
  target_include_directories(dllaunch_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(dllaunch_${name} PRIVATE dllaunch::warnings PUBLIC ${ARG_LINK})
endfunction()

# dllaunch_program(NAME): gives an executable the options of the presets.
function(dllaunch_program name)
  target_link_libraries(${name} PRIVATE dllaunch::warnings)
  if(DLLAUNCH_SANITIZE STREQUAL "address")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/leaks_of_libraries.cpp)
  endif()
endfunction()

# Sanitized programs are about five times slower; the time limits of tests follow.
set(DLLAUNCH_PATIENCE 1)
if(DLLAUNCH_SANITIZE)
  set(DLLAUNCH_PATIENCE 5)
endif()

# dllaunch_patience(VARIABLE): scales a test's time limit.
function(dllaunch_patience variable)
  if(NOT ${variable})
    set(${variable} 120)
  endif()
  math(EXPR ${variable} "${DLLAUNCH_PATIENCE} * ${${variable}}")
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# Tests with their own threads, for the tsan preset.
add_custom_target(threads_tests)

# dllaunch_test(NAME SOURCES a_test.cpp ... LINK targets ... [LABELS words ...] [TIMEOUT seconds]
#               [TIMED] [COMPUTES])
# One GoogleTest program NAME; CTest sees each of its tests by name. TIMED: it checks durations.
# COMPUTES: it waits for no other process and tolerates delays, so another test may run beside it.
function(dllaunch_test name)
  cmake_parse_arguments(ARG "TIMED;COMPUTES" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  dllaunch_patience(ARG_TIMEOUT)
  # The presets run two tests at once: a program without COMPUTES gets both cores.
  set(processors 2)
  if(ARG_COMPUTES)
    set(processors 1)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  dllaunch_program(${name})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE
    DLLAUNCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" DLLAUNCH_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  # Tests that compute nothing are most of a build, and optimisation takes up to half of its time
  # (job_file_test.cpp: 15.9 s of CPU with, 9 to 12 s without). For the others the linker would
  # replace the library's copies of templates by unoptimised ones, which run three times as long.
  if(NOT ARG_TIMED AND NOT "${ARG_LINK}" MATCHES "dllaunch::(compute|runtime|trainer)(;|$)")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  # A parameterised test is listed by the name that its suite gives it. CMake would append the
  # value, which GoogleTest prints as bytes if it has no printer.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" PROCESSORS ${processors})
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threads_tests ${name})
  endif()
endfunction()

find_program(DLLAUNCH_MPIRUN mpirun)

# dllaunch_mpi_test(NAME RANKS 1 2 ... SOURCES a_test.cpp ... LINK targets ... [TIMEOUT seconds])
# One GoogleTest program NAME; each CTest test NAME.npK runs all of it on K ranks.
function(dllaunch_mpi_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "RANKS;SOURCES;LINK" ${ARGN})
  dllaunch_patience(ARG_TIMEOUT)
  add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
  dllaunch_program(${name})
  target_link_libraries(${name} PRIVATE GTest::gmock ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE DLLAUNCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  foreach(ranks IN LISTS ARG_RANKS)
    if(DLLAUNCH_MPIRUN)
      add_test(NAME ${name}.np${ranks} COMMAND ${DLLAUNCH_MPIRUN}
        -np ${ranks} --oversubscribe --bind-to none $<TARGET_FILE:${name}>)
    else()
      add_test(NAME ${name}.np${ranks} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED no mpirun")
    endif()
    set(processors ${ranks})
    if(ranks LESS 2)
      set(processors 2)
    endif()
    # There are more ranks than cores: waiting ranks must yield.
    set_tests_properties(${name}.np${ranks} PROPERTIES
      SKIP_REGULAR_EXPRESSION "SKIPPED no mpirun" TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${processors} LABELS mpi
      ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_mpi_yield_when_idle=1")
  endforeach()
endfunction()
