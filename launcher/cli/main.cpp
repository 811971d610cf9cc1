// main() of dllaunch: parses the command line, creates the System, prints errors.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "launcher/base/terminal_text.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/os/posix_system.hpp"

namespace {

using namespace dllaunch;

/// If one of them is closed (cron, some daemons), the next file opened would take its place.
void open_standard_streams() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

bool wants_color(ColorChoice choice, bool terminal) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return terminal && (term == nullptr || std::string_view(term) != "dumb");
}

Console observe_console(ColorChoice color, int verbosity) {
  Console console;
  console.terminal_out = isatty(STDOUT_FILENO) != 0;
  console.terminal_err = isatty(STDERR_FILENO) != 0;
  console.color_out = wants_color(color, console.terminal_out);
  console.color_err = wants_color(color, console.terminal_err);
  console.verbosity = verbosity;
  winsize size{};
  if (console.terminal_out && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    console.columns = size.ws_col;
  }
  return console;
}

int report(const Error& error, bool color) {
  const char* name = color ? "\033[1;31mdllaunch:\033[0m" : "dllaunch:";
  std::fflush(stdout);
  std::fprintf(stderr, "%s %s\n", name, terminal_text(error.what).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  try: %s\n", terminal_text(error.hint).c_str());
  return exit_code_of(error.kind);
}

/// The exit code; an error if the output could not be written.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "dllaunch: cannot write the result: %s\n", std::strerror(errno));
  return code == exit_code::success ? exit_code::environment : code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  // A parent that ignores SIGCHLD passes that on, and children's exit codes would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  const std::vector<std::string> args(argv + 1, argv + argc);
  auto parsed = parse_command_line(command_groups(), args, [](const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
  });
  if (!parsed) {
    return report(parsed.error(), observe_console(ColorChoice::automatic, 0).color_err);
  }
  if (const auto* answer = std::get_if<Answer>(&*parsed)) {
    std::fputs(answer->text.c_str(), stdout);
    return flushed(exit_code::success);
  }
  const auto& invocation = std::get<Invocation>(*parsed);
  PosixSystem system(observe_console(invocation.color, invocation.verbosity),
                     invocation.prints_a_file);
  const auto code = invocation.body(system);
  return flushed(code ? *code : report(code.error(), system.console().color_err));
}
