// main() of dllaunch: parses the command line, creates the System, prints errors.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/base/terminal_text.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/error_kinds.hpp"
#include "launcher/cli/pager.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"

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

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool is_dumb_terminal() {
  return variable("TERM") == "dumb";
}

bool wants_color(ColorChoice choice, bool terminal) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!variable("NO_COLOR").value_or("").empty()) return false;
  return terminal && !is_dumb_terminal();
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
    console.lines = size.ws_row;
  }
  return console;
}

/// Whether text of that length is for the pager.
bool wants_pager(System& system, const std::string& pager, const std::string& text) {
  const Console& console = system.console();
  if (!console.terminal_out || console.lines == 0 || is_dumb_terminal()) return false;
  if (pager.empty() || !is_longer_than(text, console.lines, console.columns)) return false;
  return pager != default_pager || system.find_program(pager);
}

/// Shows text in the pager if the terminal is too short for it; prints it otherwise.
void show(System& system, const std::string& text) {
  const std::string pager = pager_command(variable("DLLAUNCH_PAGER"), variable("PAGER"));
  if (!wants_pager(system, pager, text) || !show_in_pager(pager, text)) system.print(text);
}

/// Keeps what a command prints, safe for a terminal, until show().
class PagedSystem : public PosixSystem {
 public:
  using PosixSystem::PosixSystem;
  void print(std::string_view text) override {
    kept_ += terminal_text(text, {.colors = console().color_out, .redraw = false});
  }
  const std::string& kept() const { return kept_; }

 private:
  std::string kept_;
};

/// Runs a command. On a terminal, what it printed may go to the pager, even if it failed later.
Result<int> run(const Invocation& invocation, System& system) {
  if (!invocation.command->pages || !system.console().terminal_out) return invocation.body(system);
  PagedSystem paged(system.console());
  auto code = invocation.body(paged);
  show(system, paged.kept());
  return code;
}

/// Whether the command was asked for JSON; what follows `--` is another program's.
bool wants_json(std::span<const std::string> args) {
  const auto end = std::ranges::find(args, "--");
  return std::find(args.begin(), end, "--json") != end;
}

int report(const Error& error, const Console& console, bool json) {
  const std::string kind(to_string(error.kind));
  if (json) {
    const Json document = {{"error",
                            {{"id", error.id.empty() ? kind : std::string(error.id)},
                             {"what", error.what},
                             {"hint", error.hint}}}};
    std::fputs(json_text(document).c_str(), stdout);
  }
  const char* name = console.color_err ? "\033[1;31mdllaunch:\033[0m" : "dllaunch:";
  std::fflush(stdout);
  std::fprintf(stderr, "%s %s\n", name, terminal_text(error.what).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  try: %s\n", terminal_text(error.hint).c_str());
  if (console.verbosity > 0) std::fprintf(stderr, "  explain: dllaunch explain %s\n", kind.c_str());
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
  prctl(PR_SET_NAME, "dllaunch");  // in a bundle the kernel knows the loader's name
  open_standard_streams();
  // A parent that ignores SIGCHLD passes that on, and children's exit codes would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool json = wants_json(args);
  auto parsed = parse_command_line(command_groups(), args, [](const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
  });
  if (!parsed) {
    return flushed(report(parsed.error(), observe_console(ColorChoice::automatic, 0), json));
  }
  if (const auto* answer = std::get_if<Answer>(&*parsed)) {
    PosixSystem system(observe_console(ColorChoice::automatic, 0));
    show(system, answer->text);
    return flushed(exit_code::success);
  }
  const auto& invocation = std::get<Invocation>(*parsed);
  PosixSystem system(observe_console(invocation.color, invocation.verbosity),
                     invocation.prints_a_file);
  const auto code = run(invocation, system);
  return flushed(code ? *code : report(code.error(), system.console(), json));
}
