# Every `scripts/test -R X` of CONTRIBUTING.md matches a test: a proof that runs none proves nothing.
#   cmake -DGUIDE=CONTRIBUTING.md -DCTEST=ctest -DBUILD=build/test -P contributing_proofs.cmake
file(READ ${GUIDE} guide)
string(REGEX MATCHALL "scripts/test -R ('[^']+'|[^ `]+)" proofs "${guide}")
list(LENGTH proofs count)
if(count LESS 8)
  message(FATAL_ERROR "${GUIDE} has ${count} proofs: is it still read right?")
endif()
foreach(proof IN LISTS proofs)
  string(REGEX REPLACE "scripts/test -R '?([^']+)'?" "\\1" names "${proof}")
  execute_process(COMMAND ${CTEST} -N -R ${names} WORKING_DIRECTORY ${BUILD} OUTPUT_VARIABLE list
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT list MATCHES "Total Tests: [1-9]")
    message(SEND_ERROR "${GUIDE}: ${proof} matches no test")
  endif()
endforeach()
message("${count} proofs")
