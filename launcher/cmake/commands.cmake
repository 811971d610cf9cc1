# dllaunch_commands(TARGET GROUP "title" name ... [GROUP "title" name ...]...)
# Adds cli/commands/NAME.cpp of every name to TARGET and writes the table behind command_groups(). The global property
# DLLAUNCH_COMMANDS lists them as users type them, with - for _.
# A table written by the build cannot be dropped by the linker, as static registrars can.
function(dllaunch_commands target)
  set(declarations "")
  set(pointers "")
  set(groups "")
  set(count 0)
  set(first 0)
  set(title "")
  set(take_title FALSE)
  foreach(word IN LISTS ARGN ITEMS GROUP)
    if(word STREQUAL "GROUP")
      if(title)
        math(EXPR size "${count} - ${first}")
        string(APPEND groups "    {\"${title}\", std::span(table).subspan(${first}, ${size})},\n")
      endif()
      set(first ${count})
      set(take_title TRUE)
    elseif(take_title)
      set(title "${word}")
      set(take_title FALSE)
    else()
      set(source ${CMAKE_CURRENT_SOURCE_DIR}/cli/commands/${word}.cpp)
      get_filename_component(word ${word} NAME)
      string(REPLACE _ - typed ${word})
      set_property(GLOBAL APPEND PROPERTY DLLAUNCH_COMMANDS ${typed})
      target_sources(${target} PRIVATE ${source})
      string(APPEND declarations "extern const Command ${word}_command;\n")
      string(APPEND pointers "    &${word}_command,\n")
      math(EXPR count "${count} + 1")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT command_table.cpp @ONLY CONTENT [=[
// Written by launcher/cmake/commands.cmake.
#include "launcher/cli/command.hpp"

namespace dllaunch {

@declarations@
namespace {
constexpr const Command* table[] = {
@pointers@};
const CommandGroup groups[] = {
@groups@};
}  // namespace

std::span<const CommandGroup> command_groups() { return groups; }

}  // namespace dllaunch
]=])
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/command_table.cpp)
endfunction()
