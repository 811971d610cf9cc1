#include "launcher/follow.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

std::string rank_prefix(const std::string& log_name) {
  constexpr std::string_view mark = "rank-";
  if (!log_name.starts_with(mark)) return "";
  char* end = nullptr;
  const long rank = std::strtol(log_name.c_str() + mark.size(), &end, 10);
  return *end == '-' ? fmt::format("[{}] ", rank) : std::string();
}

Follower::Follower(World& world, const RunDir& run, const FollowSettings& settings)
    : world_(world),
      run_(run),
      settings_(settings),
      progress_({.terminal = settings.terminal,
                 .color = settings.terminal && world.console().color_err,
                 .columns = world.console().columns,
                 .epochs = settings.epochs,
                 .run_dir = run.path}),
      events_(run.events()) {
  for (auto events = events_.read(); !events.empty(); events = events_.read()) {
    for (const auto& event : events) ledger_.recall(event);
  }
  events_.drop_rest();
  find_logs(/*skip_content=*/true);
}

void Follower::find_logs(bool skip_content) {
  // A log a rank up to 256; above, one a node: never many files to look at.
  constexpr std::size_t most = 1024;
  std::error_code error;
  for (fs::directory_iterator at(run_.out(), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (rank_prefix(name).empty() || logs_.size() >= most) continue;
    const std::string path = at->path().string();
    logs_.try_emplace(name, path, skip_content ? size_of(path) : 0);
  }
}

void Follower::read_events() {
  for (auto events = events_.read(); !events.empty(); events = events_.read()) {
    for (const auto& event : events) {
      ledger_.take(event);
      progress_.take(event);
    }
  }
}

void Follower::read_logs(bool to_the_end) {
  if (!settings_.show_logs) return;
  find_logs(/*skip_content=*/false);
  for (auto& [name, tail] : logs_) {
    const std::string prefix = settings_.ranks > 1 ? rank_prefix(name) : std::string();
    do {
      const auto lines = tail.read();
      for (const auto& line : lines) progress_.say(prefix + line);
      if (lines.empty()) break;
    } while (to_the_end);
    const std::string rest = to_the_end ? tail.take_rest() : std::string();
    if (!rest.empty()) progress_.say(prefix + rest);
  }
}

void Follower::write(const std::string& text) {
  if (!text.empty() && world_.console().verbosity >= 0) world_.note(text);
}

void Follower::poll() {
  read_events();
  read_logs(/*to_the_end=*/false);
  write(progress_.draw(unix_seconds()));
}

void Follower::waiting(const std::string& what) {
  progress_.waiting(what);
  write(progress_.draw(unix_seconds()));
}

void Follower::note(const std::string& line) {
  progress_.say(line);
  write(progress_.draw(unix_seconds()));
}

void Follower::say(const std::string& line) {
  if (world_.console().verbosity < 0) {
    world_.note(line + "\n");
    return;
  }
  note(line);
}

void Follower::finish() {
  read_events();
  read_logs(/*to_the_end=*/true);
  write(progress_.finish());
}

}  // namespace dllaunch
