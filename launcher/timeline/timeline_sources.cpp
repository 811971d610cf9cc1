#include "launcher/timeline/timeline_sources.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct Found {
  fs::path path;
  fs::file_time_type written;
};

std::vector<Found> files_in(const std::string& folder) {
  std::vector<Found> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("rank-") || !name.ends_with(".json")) continue;
    files.push_back({at->path(), at->last_write_time(error)});
  }
  // Newest first: the newest file tells how many ranks the job has.
  std::ranges::sort(files, std::greater(),
                    [](const Found& file) { return std::pair(file.written, file.path.string()); });
  return files;
}

/// A rank that ended before its clock was measured uses its host's clock; rank 0's host uses rank
/// 0's.
void settle_clocks(TimelineSources& sources) {
  std::map<std::string, std::vector<ClockBounds>> clocks;
  for (const TimelineSource& each : sources.ranks) {
    if (each.head.rank == 0) clocks[each.head.host] = {{.at_ns = 1}};
  }
  for (const TimelineSource& each : sources.ranks) {
    if (!each.clock.empty()) clocks[each.head.host] = each.clock;
  }
  for (TimelineSource& each : sources.ranks) {
    if (each.clock.empty()) each.clock = clocks[each.head.host];
    if (!each.clock.empty()) continue;
    sources.left_out.push_back(fmt::format("{}: its clock was not measured against rank 0's",
                                           timeline_file_name(each.head.rank)));
  }
  std::erase_if(sources.ranks, [](const TimelineSource& each) { return each.clock.empty(); });
}

}  // namespace

std::int64_t TimelineSource::offset_ns(std::int64_t at_ns) const {
  const auto later = std::ranges::upper_bound(clock, at_ns, {}, &ClockBounds::at_ns);
  if (later == clock.begin()) return clock.front().middle_ns();
  const ClockBounds& before = *std::prev(later);
  if (later == clock.end() || later->at_ns == before.at_ns) return before.middle_ns();
  const double share =
      static_cast<double>(at_ns - before.at_ns) / static_cast<double>(later->at_ns - before.at_ns);
  const double drift = static_cast<double>(later->middle_ns() - before.middle_ns());
  return before.middle_ns() + static_cast<std::int64_t>(share * drift);
}

std::int64_t TimelineSource::clock_error_ns() const {
  std::int64_t widest = 0;
  for (const ClockBounds& bounds : clock) {
    widest = std::max(widest, (bounds.high_ns - bounds.low_ns) / 2);
  }
  return widest;
}

std::string TimelineSource::name() const {
  return process_name(head.rank, head.host, head.stage);
}

Result<TimelineSources> find_timelines(const std::string& folder) {
  TimelineSources sources;
  int ranks = 0;
  for (const Found& file : files_in(folder)) {
    const std::string name = file.path.filename().string();
    auto reader = TimelineReader::open(file.path.string());
    const auto leave_out = [&](const std::string& why) {
      sources.left_out.push_back(fmt::format("{}: {}", name, why));
    };
    if (!reader) {
      leave_out(reader.error().kind == ErrorKind::bad_request ? "no timeline of a rank"
                                                              : reader.error().what);
      continue;
    }
    const TimelineHead& head = reader->head();
    if (name != timeline_file_name(head.rank)) {
      leave_out(fmt::format("says that it is rank {}'s", head.rank));
      continue;
    }
    if (ranks == 0) ranks = head.ranks;
    if (head.ranks != ranks) {
      leave_out(fmt::format("of an earlier start with {} ranks", head.ranks));
      continue;
    }
    sources.ranks.push_back({.path = file.path.string(),
                             .head = head,
                             .counts = reader->counts(),
                             .clock = reader->clock()});
  }
  std::ranges::sort(sources.ranks, {}, [](const TimelineSource& each) { return each.head.rank; });
  settle_clocks(sources);
  if (sources.ranks.empty()) {
    std::string what = "no timeline in " + folder;
    for (const auto& line : sources.left_out) what += "\n" + line;
    return Error{ErrorKind::bad_request, what,
                 "set runtime.timeline: true in the job file, or send the ranks SIGUSR1 while "
                 "they train"};
  }
  return sources;
}

}  // namespace dllaunch
