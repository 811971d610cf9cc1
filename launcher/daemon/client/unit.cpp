#include "launcher/daemon/client/unit.hpp"

#include <fmt/core.h>

namespace dllaunch {
namespace {

/// Quotes for systemd: % is special even inside quotes, and so is $ in a command.
std::string unit_quote(const std::string& word, bool doubles_dollars) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '%' || (c == '$' && doubles_dollars)) quoted += c;
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

std::vector<std::string> start_argv(const std::string& dllaunch, const DaemonSettings& settings) {
  const DaemonSettings usual;
  std::vector<std::string> argv = {dllaunch, "daemon", "start"};
  const auto add = [&argv](const char* option, const std::string& value) {
    argv.emplace_back(option);
    argv.push_back(value);
  };
  if (settings.foreground) argv.emplace_back("--foreground");
  if (settings.port >= 0) add("--listen", fmt::format("127.0.0.1:{}", settings.port));
  if (settings.interval_s != usual.interval_s)
    add("--interval", fmt::format("{}", settings.interval_s));
  if (settings.settle_s != usual.settle_s) add("--settle", fmt::format("{}", settings.settle_s));
  if (settings.most_jobs != usual.most_jobs) add("--max-jobs", std::to_string(settings.most_jobs));
  if (settings.most_submissions != usual.most_submissions)
    add("--max-submissions", std::to_string(settings.most_submissions));
  if (settings.most_gpu_hours > 0)
    add("--max-gpu-hours", fmt::format("{}", settings.most_gpu_hours));
  if (!settings.notify.empty()) add("--notify", settings.notify);
  return argv;
}

std::string systemd_unit(const std::string& dllaunch, const DaemonSettings& settings,
                         const std::vector<std::pair<std::string, std::string>>& environment) {
  auto own = settings;
  own.foreground = true;
  std::string line;
  for (const auto& word : start_argv(dllaunch, own))
    line += (line.empty() ? "" : " ") + unit_quote(word, /*doubles_dollars=*/true);
  std::string variables;
  for (const auto& [name, value] : environment)
    variables +=
        fmt::format("Environment={}\n", unit_quote(fmt::format("{}={}", name, value), false));
  // KillMode: a running submission may finish; its outcome is found later. Exit code 2: another
  // daemon runs, or the store is damaged.
  return fmt::format(
      "[Unit]\n"
      "Description=dllaunch: keeps your training runs going\n"
      "\n"
      "[Service]\n"
      "Type=exec\n"
      "{}"
      "ExecStart={}\n"
      "Restart=on-failure\n"
      "RestartSec=10\n"
      "RestartPreventExitStatus=2\n"
      "KillMode=process\n"
      "TimeoutStopSec=75\n"
      "\n"
      "[Install]\n"
      "WantedBy=default.target\n",
      variables, line);
}

}  // namespace dllaunch
