# cmake -DINPUT=x.mustache -DOUTPUT=x.cpp -P embed_template.cmake
# Writes a template as job_sbatch_template(). One raw string literal a line, since compilers limit the
# length of a single one.
file(READ "${INPUT}" text)
string(FIND "${text}" ")text\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the end of a raw string literal")
endif()
string(REPLACE "\n" "\n)text\"\n    R\"text(" text "${text}")
file(WRITE "${OUTPUT}" "// Written by launcher/embed_template.cmake.
#include \"launcher/job_sbatch_template.hpp\"

namespace dllaunch {
namespace {

constexpr std::string_view text = R\"text(${text})text\";

}  // namespace

std::string_view job_sbatch_template() {
  return text;
}

}  // namespace dllaunch
")
