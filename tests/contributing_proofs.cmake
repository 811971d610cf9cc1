# Every `scripts/test -R X` of CONTRIBUTING.md and of the documentation matches a test: a proof that
# runs none proves nothing.
#   cmake -DSOURCE=. -DCTEST=ctest -DBUILD=build/test -P contributing_proofs.cmake
file(GLOB_RECURSE pages ${SOURCE}/docs/*.md)
foreach(page IN LISTS pages ITEMS ${SOURCE}/CONTRIBUTING.md)
  file(READ ${page} text)
  string(REGEX MATCHALL "scripts/test -R ('[^']+'|[^ `\n]+)" found "${text}")
  list(APPEND proofs ${found})
endforeach()
list(LENGTH proofs count)
if(count LESS 11)
  message(FATAL_ERROR "${SOURCE} has ${count} proofs: is it still read right?")
endif()
foreach(proof IN LISTS proofs)
  string(REGEX REPLACE "scripts/test -R '?([^']+)'?" "\\1" names "${proof}")
  execute_process(COMMAND ${CTEST} -N -R ${names} WORKING_DIRECTORY ${BUILD} OUTPUT_VARIABLE list
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT list MATCHES "Total Tests: [1-9]")
    message(SEND_ERROR "${proof} matches no test")
  endif()
endforeach()
message("${count} proofs")
