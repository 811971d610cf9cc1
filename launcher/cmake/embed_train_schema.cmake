# cmake -DOUTPUT=x.cpp -P embed_train_schema.cmake -- COMMAND...
# Runs COMMAND and writes what it printed as train_schema_text(). One raw string literal a line, since
# compilers limit the length of a single one.
set(command "")
set(after_dashes FALSE)
foreach(index RANGE 1 ${CMAKE_ARGC})
  set(argument "${CMAKE_ARGV${index}}")
  if(after_dashes AND NOT argument STREQUAL "")
    list(APPEND command "${argument}")
  elseif(argument STREQUAL "--")
    set(after_dashes TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${command} ended with ${status}")
endif()
string(FIND "${text}" ")json\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${command} printed the end of a raw string literal")
endif()
string(REPLACE "\n" "\n)json\"\n    R\"json(" text "${text}")
file(WRITE ${OUTPUT} "// Written by launcher/cmake/embed_train_schema.cmake.
#include \"launcher/job/job_schema.hpp\"

namespace dllaunch {
namespace {

constexpr std::string_view text = R\"json(${text})json\";

}  // namespace

std::string_view train_schema_text() {
  return text;
}

}  // namespace dllaunch
")
