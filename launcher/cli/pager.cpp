#include "launcher/cli/pager.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

/// Ends with 127 if the shell does not find the pager.
constexpr int not_found = 127;

/// Characters without colours: "\033[1;31m".
int shown_characters(std::string_view line) {
  int count = characters_in(line);
  for (std::size_t at = 0; (at = line.find("\033[", at)) != std::string_view::npos;) {
    const std::size_t end = line.find('m', at);
    if (end == std::string_view::npos) break;
    count -= static_cast<int>(end + 1 - at);
    at = end + 1;
  }
  return count;
}

}  // namespace

std::string pager_command(const std::optional<std::string>& own,
                          const std::optional<std::string>& general) {
  return own ? *own : general.value_or(std::string(default_pager));
}

bool is_longer_than(std::string_view text, int lines, int columns) {
  int used = 1;  // the prompt that follows
  for (const std::string_view line : split_lines(text)) {
    const int width = shown_characters(line);
    used += columns > 0 && width > columns ? (width + columns - 1) / columns : 1;
    if (used > lines) return true;
  }
  return false;
}

bool show_in_pager(const std::string& command, std::string_view text) {
  std::fflush(stdout);
  // Colours, and the text stays on the screen. As git does, unless the user says otherwise.
  ::setenv("LESS", "FRX", 0);
  std::FILE* pager = ::popen(command.c_str(), "w");
  if (pager == nullptr) return false;
  // Ctrl-C is for the pager. A user who leaves it early breaks the pipe, which is no error.
  const auto on_interrupt = std::signal(SIGINT, SIG_IGN);
  const auto on_pipe = std::signal(SIGPIPE, SIG_IGN);
  std::fwrite(text.data(), 1, text.size(), pager);
  const int status = ::pclose(pager);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGPIPE, on_pipe);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == not_found);
}

}  // namespace dllaunch
