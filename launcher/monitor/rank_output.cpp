#include "launcher/monitor/rank_output.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "launcher/base/moment.hpp"
#include "launcher/base/shown_line.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Read at a time from one log, so that ranks' lines stay close together.
constexpr std::size_t block_bytes = 65536;
constexpr std::size_t bytes_a_poll = std::size_t{4} << 20;
constexpr std::size_t bytes_a_line = 2 * sizeof(std::string);
/// One log per rank up to 256 ranks, above that one per node: the number of files stays small.
constexpr std::size_t most_logs = 8192;

/// Thousands of logs on a shared file system are not polled ten times a second.
double pause_s(std::size_t logs) {
  constexpr std::size_t few = 64;
  constexpr double opened_a_second = 640;
  return logs <= few ? 0 : static_cast<double>(logs) / opened_a_second;
}

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

/// 0: there is no such file.
double written_s(const std::string& path) {
  struct stat state {};
  return ::stat(path.c_str(), &state) == 0 ? static_cast<double>(state.st_mtime) : 0;
}

}  // namespace

RankOutput::RankOutput(std::string folder, RankOutputSettings settings)
    : folder_(std::move(folder)), settings_(std::move(settings)) {
  skipping_ = settings_.skip_present;
  find_logs();
  skipping_ = false;
}

void RankOutput::add(const std::string& name, const std::string& path, LogSource source) {
  if (logs_.size() >= most_logs || logs_.contains(name)) return;
  if (settings_.since_s && written_s(path) < *settings_.since_s) return;
  logs_.emplace(name, Log{std::move(source), LineTail(path, skipping_ ? size_of(path) : 0)});
}

void RankOutput::find_logs() {
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    auto source = log_source(name);
    const auto& only = settings_.only_rank;
    if (!source || (only && source->rank >= 0 && source->rank != *only)) continue;
    add(name, at->path().string(), *std::move(source));
  }
  if (settings_.only_rank) return;
  for (const auto& path : settings_.extra) add("/" + path, path, {.rank = -1, .node = "slurm"});
  for (const auto& path : settings_.plain) add("/" + path, path, {.rank = -1, .node = ""});
}

bool RankOutput::is_older(const LogSource& source, const LabelledLine& line) {
  if (!settings_.since_s) return false;
  bool& older = older_[{source.node, line.rank}];
  if (const auto moment = leading_moment(line.text)) older = *moment < *settings_.since_s;
  return older;
}

void RankOutput::take(const LogSource& source, std::string_view line, double now_s) {
  auto labelled = source.rank >= 0 ? LabelledLine{source.rank, line} : split_label(line);
  if (is_older(source, labelled)) return;
  if (!waits_for_step_ && labelled.rank >= 0 && waits_for_a_step(labelled.text))
    waits_for_step_ = LogSource{.rank = labelled.rank, .node = source.node};
  if (source.rank < 0 && source.node.empty()) {
    plain_.push_back(shown_line(line));
  } else if (settings_.only_rank) {
    if (labelled.rank == *settings_.only_rank) plain_.push_back(shown_line(labelled.text));
  } else if (!settings_.several && source.rank >= 0) {
    plain_.push_back(shown_line(labelled.text));
  } else {
    merger_.take(labelled.rank, source.node, shown_line(labelled.text), now_s);
  }
}

/// Reads a line of each log in turn, so that equal lines of several ranks meet.
void RankOutput::read(double now_s) {
  const std::size_t block = std::clamp(bytes_a_poll / std::max<std::size_t>(1, logs_.size()),
                                       block_bytes / 32, block_bytes);
  std::size_t spent = 0;
  std::vector<std::pair<const LogSource*, std::vector<std::string>>> fresh;
  do {
    behind_ = false;
    fresh.clear();
    std::size_t most_lines = 0;
    for (auto& [name, log] : logs_) {
      auto lines = log.tail.read(block);
      // A short line uses more memory than its bytes.
      spent += (log.tail.behind() ? block : 0) + lines.size() * bytes_a_line;
      behind_ = behind_ || log.tail.behind();
      most_lines = std::max(most_lines, lines.size());
      if (!lines.empty()) fresh.emplace_back(&log.source, std::move(lines));
    }
    for (std::size_t i = 0; i < most_lines; ++i) {
      for (const auto& [source, lines] : fresh) {
        if (i < lines.size()) take(*source, lines[i], now_s);
      }
    }
  } while (behind_ && spent < bytes_a_poll);
}

/// Shows one bar for all ranks; the others are nearly the same.
void RankOutput::show_bar(double now_s) {
  if (now_s - bar_shown_s_ < bar_s) return;
  for (auto& [name, log] : logs_) {
    const std::string bar = log.tail.redrawn();
    if (bar.empty()) continue;
    if (bar_shown_s_ > 0) take(log.source, bar, now_s);
    bar_shown_s_ = now_s;
    return;
  }
}

std::vector<std::string> RankOutput::shown(std::vector<std::string> merged) {
  auto lines = std::exchange(plain_, {});
  std::move(merged.begin(), merged.end(), std::back_inserter(lines));
  if (!settings_.component.empty())
    for (auto& line : lines) line.insert(0, settings_.component + " ");
  return lines;
}

std::vector<std::string> RankOutput::poll(double now_s) {
  if (now_s >= next_read_s_ || now_s < last_read_s_) {
    find_logs();
    read(now_s);
    last_read_s_ = now_s;
    next_read_s_ = behind_ ? now_s : now_s + pause_s(logs_.size());
  }
  show_bar(now_s);
  return shown(merger_.ripe(now_s));
}

std::vector<std::string> RankOutput::present() {
  find_logs();
  read(0);
  return shown(behind_ ? merger_.ripe(0) : merger_.rest());
}

std::vector<std::string> RankOutput::finish() {
  find_logs();
  read(0);
  if (behind_) return shown(merger_.ripe(0));
  for (auto& [name, log] : logs_) {
    const std::string rest = log.tail.take_rest();
    if (!rest.empty()) take(log.source, rest, 0);
  }
  return shown(merger_.rest());
}

}  // namespace dllaunch
