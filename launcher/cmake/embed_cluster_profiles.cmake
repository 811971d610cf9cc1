# cmake -DOUTPUT=x.cpp -P embed_cluster_profiles.cmake -- a.yaml b.yaml ...
# Writes the profiles as embedded_cluster_profiles(). One raw string literal a line, since compilers
# limit the length of a single one.
set(entries "")
set(profile FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  set(word "${CMAKE_ARGV${i}}")
  if(profile)
    get_filename_component(name "${word}" NAME_WE)
    file(READ "${word}" text)
    string(FIND "${text}" ")text\"" clash)
    if(NOT clash EQUAL -1)
      message(FATAL_ERROR "${word} holds the end of a raw string literal")
    endif()
    string(REPLACE "\n" "\n)text\"\n     R\"text(" text "${text}")
    string(APPEND entries "    {\"${name}\",\n     R\"text(${text})text\"},\n")
  elseif(word STREQUAL "--")
    set(profile TRUE)
  endif()
endforeach()
file(WRITE "${OUTPUT}" "// Written by launcher/cmake/embed_cluster_profiles.cmake.
#include \"launcher/cluster/cluster_catalog.hpp\"

namespace dllaunch {
namespace {

constexpr EmbeddedProfile table[] = {
${entries}};

}  // namespace

std::span<const EmbeddedProfile> embedded_cluster_profiles() {
  return table;
}

}  // namespace dllaunch
")
