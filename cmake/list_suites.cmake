# Writes FILE for CTest: in its configuration `whole`, each suite of the GoogleTest program PROGRAM is a test,
# with LABELS and a PROPERTY. LIMIT: seconds allowed for one test case.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${list}")
set(text "if(CTEST_CONFIGURATION_TYPE STREQUAL \"whole\")\n")
list(JOIN PROPERTY " " property)
set(suites "")
foreach(line IN LISTS lines)
  # "Suite." or "Suite/0.  # TypeParam = ...", then its test cases, indented.
  if(line MATCHES "^([^ ]+)\\.( |$)")
    set(suite ${CMAKE_MATCH_1})
    list(APPEND suites ${suite})
    set(cases_${suite} 0)
  elseif(line MATCHES "^  ")
    math(EXPR cases_${suite} "${cases_${suite}} + 1")
  endif()
endforeach()
foreach(suite IN LISTS suites)
  # CTest starts the largest suites first.
  string(APPEND text "add_test([=[${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${suite}]=] PROPERTIES TIMEOUT 3600 COST ${cases_${suite}} LABELS [=[${LABELS}]=] "
    "${property} ENVIRONMENT [=[GTEST_BRIEF=1;DLLAUNCH_TEST_LIMIT=${LIMIT}]=])\n")
endforeach()
file(WRITE ${FILE} "${text}endif()\n")
