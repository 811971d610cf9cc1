# Functions used by every CMakeLists.txt of this project. Targets only, no globbing: the source list
# of a folder is its table of contents.

# Templates of the same headers are most of what a unit costs. The presets dev, tidy and fuzz compile each file by
# itself, so that a file that relies on its neighbours' includes or names is found.
option(DLLAUNCH_UNITY "compile up to ten sources of a room as one unit" ON)

# Not for users, who cannot mend what is warned of; warnings are a twentieth of a unit's compile time.
add_library(dllaunch_warnings INTERFACE)
add_library(dllaunch::warnings ALIAS dllaunch_warnings)
target_compile_options(dllaunch_warnings INTERFACE
  $<$<AND:$<BOOL:${DLLAUNCH_UNITY}>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR DLLAUNCH_WERROR)
  target_compile_options(dllaunch_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion $<$<BOOL:${DLLAUNCH_WERROR}>:-Werror>
    # g++ 12 warns of overlapping copies when it inlines `"text" + std::string` (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # Files of one unit do not see each other's names elsewhere, so what they shadow and export there says nothing.
    $<IF:$<AND:$<BOOL:${DLLAUNCH_UNITY}>,$<CXX_COMPILER_ID:GNU>>,-Wshadow=local,-Wshadow>)
endif()

# dllaunch_library(NAME SOURCES a.cpp ... [LINK targets ...])
# A static library dllaunch_NAME, used as dllaunch::NAME. Headers are found from the repository's root.
function(dllaunch_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(dllaunch_${name} STATIC ${ARG_SOURCES})
  add_library(dllaunch::${name} ALIAS dllaunch_${name})
  target_include_directories(dllaunch_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(dllaunch_${name} PRIVATE dllaunch::warnings PUBLIC ${ARG_LINK})
  set_target_properties(dllaunch_${name} PROPERTIES UNITY_BUILD ${DLLAUNCH_UNITY} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

# dllaunch_program(NAME): gives an executable the options of the presets.
function(dllaunch_program name)
  target_link_libraries(${name} PRIVATE dllaunch::warnings)
  if(DLLAUNCH_SANITIZE STREQUAL "address")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/leaks_of_libraries.cpp)
  endif()
endfunction()

# Sanitized programs are about five times slower, emulated ones ten times; the time limits of tests follow.
set(DLLAUNCH_PATIENCE 1)
if(CMAKE_CROSSCOMPILING)
  set(DLLAUNCH_PATIENCE 10)
elseif(DLLAUNCH_SANITIZE)
  set(DLLAUNCH_PATIENCE 5)
endif()

# dllaunch_patience(VARIABLE): scales a test's time limit.
function(dllaunch_patience variable)
  if(NOT ${variable})
    set(${variable} 300)
  endif()
  math(EXPR ${variable} "${DLLAUNCH_PATIENCE} * ${${variable}}")
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# CTest runs GoogleTest programs in one of two configurations. By default every test case is a CTest test:
# `ctest --preset test -R NAME`. With `ctest -C whole`, which scripts/test uses, a CTest test is a program or one
# of its suites, because starting a program or a cluster takes longer than most test cases. The program then
# enforces the time limit of each test case itself (tests/support/test_main.cpp).

# dllaunch_by_name(NAME): hides the tests that gtest_discover_tests() has just found from `whole`.
function(dllaunch_by_name name)
  get_property(files DIRECTORY PROPERTY TEST_INCLUDE_FILES)
  list(POP_BACK files found)
  set(by_name ${CMAKE_CURRENT_BINARY_DIR}/${name}_by_name.cmake)
  file(CONFIGURE OUTPUT ${by_name} @ONLY
       CONTENT "if(NOT CTEST_CONFIGURATION_TYPE STREQUAL \"whole\")\n  include(\"@found@\")\nendif()\n")
  set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES ${files} ${by_name})
endfunction()

# dllaunch_whole(NAME LIMIT SHARES LABELS PROPERTY VALUE): adds the program to `whole`, split into SHARES tests.
function(dllaunch_whole name limit shares labels)
  math(EXPR last "${shares} - 1")
  foreach(share RANGE ${last})
    set(test ${name}.whole)
    if(shares GREATER 1)
      math(EXPR number "${share} + 1")
      set(test ${name}.${number}of${shares})
    endif()
    add_test(NAME ${test} CONFIGURATIONS whole COMMAND ${name})
    set_tests_properties(${test} PROPERTIES TIMEOUT 3600 LABELS "${labels}" ${ARGN} ENVIRONMENT
      "GTEST_BRIEF=1;GTEST_TOTAL_SHARDS=${shares};GTEST_SHARD_INDEX=${share};DLLAUNCH_TEST_LIMIT=${limit}")
  endforeach()
endfunction()

# dllaunch_suites(NAME LIMIT LABELS PROPERTY VALUE): adds each suite of the program to `whole`.
function(dllaunch_suites name limit labels)
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=${program}" -DLIMIT=${limit} "-DLABELS=${labels}" "-DPROPERTY=${ARGN}" -DFILE=${suites}
    -P ${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake)
  # Not there where only some programs are built, as for `scripts/test --quick` and tsan.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_if_built.cmake "include(\"${suites}\" OPTIONAL)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_if_built.cmake)
endfunction()

# threads_tests: programs that start threads, for the tsan preset. quick_tests: programs of scripts/test --quick.
add_custom_target(threads_tests)
add_custom_target(quick_tests)

# CTest's PROCESSORS are slots. Tests of Slurm use 0.1 to 0.3 of a core (SlurmFaults 8 s of CPU in 100 s, SlurmRender
# 14 s in 52 s), and take one: scripts/test has three for each core.
set(DLLAUNCH_A_CORE 3)

# dllaunch_in_units(NAME sources ...): compiles up to six *_test.cpp of a test program as one unit, in less than half
# the time of each by itself. These sources, which define names of others, stay apart.
function(dllaunch_in_units name)
  get_target_property(others ${name} SOURCES)
  list(FILTER others EXCLUDE REGEX "_test\\.cpp$")
  set_source_files_properties(${others} ${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${DLLAUNCH_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# Six of trainer_test's sources take 7.3 s of CPU with -O2, 4.3 s with -O1.
function(dllaunch_lightly_optimised name)
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
endfunction()

# dllaunch_test(NAME SOURCES a_test.cpp ... LINK targets ... [APART a_test.cpp ...] [LABELS words ...]
#               [TIMEOUT seconds] [TIMED] [QUICK] [WAITS | ALONE] [SHARES number | BY_SUITE])
# One GoogleTest program NAME. APART: those of the sources that are units of their own. TIMEOUT: of one test case. TIMED:
# measures a library, so is compiled with all optimisation. QUICK: part of scripts/test --quick. CTest reserves one core
# for a test, a third of one with WAITS (it mostly waits), the whole machine with ALONE (it asserts times). In `whole` the
# program is one test, SHARES tests, or a test per suite.
function(dllaunch_test name)
  cmake_parse_arguments(ARG "TIMED;QUICK;WAITS;ALONE;BY_SUITE" "TIMEOUT;SHARES" "SOURCES;APART;LINK;LABELS" ${ARGN})
  dllaunch_patience(ARG_TIMEOUT)
  set(takes PROCESSORS ${DLLAUNCH_A_CORE})
  if(ARG_WAITS)
    set(takes PROCESSORS 1)
  elseif(ARG_ALONE)
    set(takes RUN_SERIAL ON)
  endif()
  if(ARG_QUICK)
    list(APPEND ARG_LABELS quick)
    add_dependencies(quick_tests ${name})
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threads_tests ${name})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  dllaunch_in_units(${name} ${ARG_APART})
  dllaunch_program(${name})
  target_link_libraries(${name} PRIVATE dllaunch_test_main ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE
    DLLAUNCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" DLLAUNCH_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  # Tests that compute nothing are most of a build, and optimisation takes up to half of its time
  # (job_file_test.cpp: 15.9 s of CPU with, 9 to 12 s without). For the others the linker would
  # replace the library's copies of templates by unoptimised ones, which run three times as long;
  # -O1, see dllaunch_lightly_optimised(), keeps them fast.
  if(NOT ARG_TIMED AND NOT "${ARG_LINK}" MATCHES "dllaunch::(compute|runtime|trainer)(;|$)")
    target_compile_options(${name} PRIVATE -O0)
    dllaunch_precompile(${name} dllaunch_test_pch)
  else()
    if(NOT ARG_TIMED)
      dllaunch_lightly_optimised(${name})
    endif()
    dllaunch_precompile_optimized(${name})
  endif()
  # A parameterised test is listed by the name that its suite gives it. CMake would append the
  # value, which GoogleTest prints as bytes if it has no printer.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" ${takes})
  dllaunch_by_name(${name})
  if(ARG_BY_SUITE)
    dllaunch_suites(${name} ${ARG_TIMEOUT} "${ARG_LABELS}" ${takes})
  else()
    if(NOT ARG_SHARES)
      set(ARG_SHARES 1)
    endif()
    dllaunch_whole(${name} ${ARG_TIMEOUT} ${ARG_SHARES} "${ARG_LABELS}" ${takes})
  endif()
endfunction()

find_program(DLLAUNCH_MPIRUN mpirun)

# dllaunch_mpi_test(NAME RANKS 1 2 ... SOURCES a_test.cpp ... LINK targets ... [APART a_test.cpp ...] [TIMEOUT seconds])
# One GoogleTest program NAME; each CTest test NAME.npK runs all of it on K ranks.
function(dllaunch_mpi_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "RANKS;SOURCES;APART;LINK" ${ARGN})
  dllaunch_patience(ARG_TIMEOUT)
  add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
  dllaunch_in_units(${name} ${ARG_APART})
  dllaunch_program(${name})
  target_link_libraries(${name} PRIVATE GTest::gmock ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE DLLAUNCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  dllaunch_lightly_optimised(${name})
  dllaunch_precompile_optimized(${name})
  foreach(ranks IN LISTS ARG_RANKS)
    if(DLLAUNCH_MPIRUN AND DLLAUNCH_MPI)
      add_test(NAME ${name}.np${ranks} COMMAND ${DLLAUNCH_MPIRUN}
        -np ${ranks} --oversubscribe --bind-to none $<TARGET_FILE:${name}>)
    else()
      add_test(NAME ${name}.np${ranks} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED no mpirun and mpicc")
    endif()
    math(EXPR takes "${DLLAUNCH_A_CORE} * ${ranks}")
    # Ranks outnumber cores here: those that wait must let the others run.
    set_tests_properties(${name}.np${ranks} PROPERTIES
      SKIP_REGULAR_EXPRESSION "SKIPPED no mpirun" TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${takes} LABELS mpi
      ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_mpi_yield_when_idle=1"
      # Not the user's own module, which may be for another MPI.
      ENVIRONMENT_MODIFICATION "DLLAUNCH_MPI_MODULE=set:${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libdltrain_mpi.so")
  endforeach()
endfunction()
