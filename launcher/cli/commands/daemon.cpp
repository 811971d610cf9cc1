// Starts, queries and stops the user's daemon, which is a separate program.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "launcher/base/format.hpp"
#include "launcher/base/nearest_name.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/daemon/client/client.hpp"
#include "launcher/daemon/client/daemon_lock.hpp"
#include "launcher/daemon/client/settings.hpp"
#include "launcher/daemon/client/unit.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/program_paths.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view daemon_examples =
    R"(  dllaunch daemon start                          manages your runs, also after you log out
  dllaunch daemon start --listen 127.0.0.1:0     also serves a page, to you alone
  dllaunch daemon start --notify 'mail -s "$3" me < /dev/null'
  dllaunch daemon start --systemd > ~/.config/systemd/user/dllaunch.service
  dllaunch daemon status
  dllaunch daemon stop
)";

struct DaemonArguments {
  std::string what;
  std::string listen;
  bool systemd = false;
  bool json = false;
  DaemonSettings settings;
};

Result<DaemonPaths> paths_of(System& system) {
  if (auto paths = daemon_paths(system)) return *std::move(paths);
  return Error{ErrorKind::unavailable,
               "HOME is not set, so there is no folder for the daemon's files",
               "set XDG_STATE_HOME"};
}

/// Where Slurm's commands, its configuration and the daemon's own folder are.
std::vector<std::pair<std::string, std::string>> unit_environment(System& system) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const char* name : {"PATH", "SLURM_CONF", "XDG_STATE_HOME"})
    if (auto value = system.environment(name)) variables.emplace_back(name, *std::move(value));
  return variables;
}

/// Replaces this process by the daemon, which puts itself into the background.
Result<int> start(DaemonArguments options, System& system) {
  auto& settings = options.settings;
  if (!options.listen.empty()) {
    auto port = parse_listen(options.listen);
    if (!port) return std::move(port).error();
    settings.port = *port;
  }
  auto paths = program_paths("");
  if (!paths) return std::move(paths).error();
  if (options.systemd) {
    system.print(systemd_unit(paths->dllaunch, settings, unit_environment(system)));
    system.log(
        "systemctl --user enable --now dllaunch; loginctl enable-linger keeps it after a "
        "log-out\n");
    return exit_code::success;
  }
  const auto program =
      (std::filesystem::path(paths->dllaunch).parent_path() / "dllaunch-daemon").string();
  // Not an argument: all users can read those, and a webhook's URL is a secret.
  setenv(settings_variable, settings_text(settings).c_str(), 1);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  ::execv(program.c_str(), argv);
  return Error{ErrorKind::unavailable,
               fmt::format("cannot start {}: {}", program, std::strerror(errno)),
               "`cmake --build --preset release` builds it; it belongs beside dllaunch"};
}

std::string number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->dump() : "?";
}

double figure(const Json& object, const char* key) {
  return value_at<double>(object, key);
}

std::string render(const Json& status, const DaemonPaths& paths) {
  const double megabytes = figure(status, "resident_bytes") / (1024 * 1024);
  const double up_s = figure(status, "uptime_seconds");
  std::string text =
      fmt::format("daemon: process {} on {}, {} up, {:.1f} MiB, {:.2f} % of a core\n",
                  number(status, "pid"), status.value("host", "?"), clock_time(up_s), megabytes,
                  100 * figure(status, "cpu_seconds") / std::max(up_s, 1.0));
  text += fmt::format("  runs        {} not ended; {} resubmitted\n", number(status, "live_runs"),
                      number(status, "submissions"));
  const auto slurm = status.value("slurm", Json::object());
  if (slurm.value("answers", true))
    text += fmt::format("  Slurm       asked {}, every {} s while a run is in the queue\n",
                        counted(static_cast<std::int64_t>(figure(slurm, "questions")), "time"),
                        number(status, "interval_seconds"));
  else
    text += fmt::format("  Slurm       does not answer: {}\n", slurm.value("last_error", "?"));
  text += fmt::format("  socket      {}\n", paths.socket());
  if (status.value("port", Json()).is_number())
    text += fmt::format("  page        http://127.0.0.1:{}/#token=$(cat {})\n",
                        number(status, "port"), paths.token());
  return text + fmt::format("  log         {}\n", paths.log());
}

Error not_running() {
  return {ErrorKind::unavailable, "no daemon is running", "dllaunch daemon start"};
}

Error elsewhere(const LockHolder& holder, System& system) {
  return {ErrorKind::unavailable,
          fmt::format("the daemon is process {} on host {}, and this is host {}", holder.pid,
                      holder.host, system.host_name()),
          fmt::format("ssh {}", holder.host)};
}

Result<int> status(const DaemonArguments& options, System& system) {
  auto paths = paths_of(system);
  if (!paths) return std::move(paths).error();
  const auto holder = holder_of(paths->lock());
  if (!holder) return not_running();
  if (holder->host != system.host_name()) return elsewhere(*holder, system);
  auto answer = ask_daemon(*paths, "GET", "/v1/daemon", std::chrono::seconds(5));
  if (!answer) return std::move(answer).error();
  const auto document = Json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object())
    return Error{ErrorKind::unavailable, "invalid answer from the daemon", ""};
  system.print(options.json ? json_text(document) : render(document, *paths));
  return exit_code::success;
}

bool ends_within(const DaemonPaths& paths, std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (holder_of(paths.lock())) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Result<int> stop(System& system) {
  auto paths = paths_of(system);
  if (!paths) return std::move(paths).error();
  const auto holder = holder_of(paths->lock());
  if (!holder) {
    system.log("dllaunch: no daemon is running\n");
    return exit_code::success;
  }
  if (holder->host != system.host_name()) return elsewhere(*holder, system);
  const auto asked = ask_daemon(*paths, "POST", "/v1/daemon/stop", std::chrono::seconds(3));
  if (!asked) kill(holder->pid, SIGTERM);
  // It may be waiting for Slurm. If it does not respond at all, it hangs; killing it loses nothing.
  const std::chrono::seconds patience(asked ? 15 : 3);
  if (!ends_within(*paths, patience)) {
    kill(holder->pid, SIGKILL);
    system.log(fmt::format("dllaunch: process {} did not exit within {} s and was killed\n",
                           holder->pid, patience.count()));
    if (!ends_within(*paths, std::chrono::seconds(5)))
      return Error{ErrorKind::timeout, fmt::format("process {} does not exit", holder->pid), ""};
  }
  system.print(fmt::format("daemon {} ended\n", holder->pid));
  return exit_code::success;
}

Result<int> daemon(const DaemonArguments& options, System& system) {
  if (options.what == "start") return start(options, system);
  if (options.what == "status") return status(options, system);
  if (options.what == "stop") return stop(system);
  const std::vector<std::string> known = {"start", "status", "stop"};
  const auto nearest = nearest_name(options.what, known);
  return Error{ErrorKind::bad_request,
               fmt::format("daemon: expected start, status or stop, not '{}'{}", options.what,
                           nearest ? fmt::format("; did you mean {}?", *nearest) : ""),
               "dllaunch daemon status"};
}

CommandBody declare_daemon(CommandOptions& app) {
  auto options = std::make_shared<DaemonArguments>();
  auto& settings = options->settings;
  app.add_option("WHAT", options->what, "start, status or stop")
      ->type_name("start|status|stop")
      ->required();
  app.add_flag("--foreground", settings.foreground,
               "start: stay in the foreground, log to the terminal");
  app.add_option("--listen", options->listen,
                 "start: page and API on TCP too, with a token; port 0: any")
      ->type_name("127.0.0.1:PORT");
  app.add_option("--notify", settings.notify,
                 "start: shell command; $1 event, $2 run directory, $3 message")
      ->type_name("COMMAND");
  app.add_option("--interval", settings.interval_s,
                 "start: seconds between polls of Slurm's queue [10]")
      ->range(0.1, 3600.0)
      ->type_name("S");
  app.add_option("--max-jobs", settings.most_jobs,
                 "start: submit nothing while N of your jobs are queued [100]")
      ->range(1, 1'000'000)
      ->type_name("N");
  app.add_option("--max-submissions", settings.most_submissions,
                 "start: maximum number of resubmissions of a run [100]")
      ->range(0, 1'000'000)
      ->type_name("N");
  app.add_option("--max-gpu-hours", settings.most_gpu_hours,
                 "start: runs wait after H GPU hours in 30 days [0: no limit]")
      ->range(0.0, 1e9)
      ->type_name("H");
  app.add_option("--settle", settings.settle_s,
                 "start: how long a job may take to appear after a daemon's crash [20]")
      ->range(0.0, 3600.0)
      ->type_name("S");
  app.add_flag("--systemd", options->systemd, "start: print a systemd user unit and exit");
  app.add_flag("--json", options->json, "status: one JSON document");
  return [options](System& system) { return daemon(*options, system); };
}

}  // namespace

extern const Command daemon_command;
const Command daemon_command{"daemon", "look after your runs: start, status, stop", daemon_examples,
                             declare_daemon};

}  // namespace dllaunch
