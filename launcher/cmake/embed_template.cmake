# cmake -DINPUT=x.mustache -DOUTPUT=x.cpp -DHEADER=a/x.hpp -DFUNCTION=x -P embed_template.cmake
# Writes a file as std::string_view FUNCTION(). One raw string literal a line, since compilers limit the
# length of a single one.
file(READ "${INPUT}" text)
string(FIND "${text}" ")text\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the end of a raw string literal")
endif()
string(REPLACE "\n" "\n)text\"\n    R\"text(" text "${text}")
file(WRITE "${OUTPUT}" "// Written by launcher/cmake/embed_template.cmake.
#include \"${HEADER}\"

namespace dllaunch {

std::string_view ${FUNCTION}() {
  static constexpr std::string_view text = R\"text(${text})text\";
  return text;
}

}  // namespace dllaunch
")
