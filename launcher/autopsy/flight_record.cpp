#include "launcher/autopsy/flight_record.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/pickle.hpp"
#include "launcher/base/shown_line.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_groups = 16;
constexpr double settled_s = 1;

Result<Json> document_of(std::string_view dump) {
  if (!dump.starts_with('{')) return read_pickle(dump);
  return Json::parse(dump, nullptr, /*allow_exceptions=*/false);
}

/// Its number and description: ("0", "default_pg")
std::string group_of(const Json& entry) {
  const auto names = value_at<Json>(entry, "process_group");
  return names.is_array() && !names.empty() && names[0].is_string()
             ? shown_line(names[0].get<std::string>())
             : "";
}

/// "nccl:all_reduce"
std::string name_of(const Json& entry) {
  const auto name = value_at<std::string>(entry, "profiling_name");
  return shown_line(name.substr(name.find(':') + 1));  // npos + 1 is 0
}

void take(const Json& entry, std::map<std::string, RecordedGroup>& groups) {
  const auto number = value_at<std::int64_t>(entry, "collective_seq_id");
  if (value_at<bool>(entry, "is_p2p") || number <= 0) return;
  RecordedGroup& group = groups[group_of(entry)];
  group.entered = std::max(group.entered, number);
  const bool ended =
      value_at<bool>(entry, "retired") || value_at<std::string>(entry, "state") == "completed";
  if (ended || (group.waits_in > 0 && group.waits_in <= number)) return;
  group.waits_in = number;
  group.collective = name_of(entry);
  group.since_s = static_cast<double>(value_at<std::int64_t>(entry, "time_created_ns")) * 1e-9;
}

using ByRank = std::map<int, const RecordedGroup*>;

std::string others(int count, std::string_view one, std::string_view many) {
  return count == 1 ? fmt::format("1 other {}", one) : fmt::format("{} others {}", count, many);
}

/// The judgement of one group.
void judge(const ByRank& records, std::map<int, std::string>& late) {
  auto first = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, record] : records) {
    if (record->waits_in > 0) first = std::min(first, record->waits_in);
  }
  std::map<std::string, int> waiting;  // by collective
  double since_s = std::numeric_limits<double>::max();
  for (const auto& [rank, record] : records) {
    if (record->waits_in != first) continue;
    ++waiting[record->collective];
    since_s = std::min(since_s, record->since_s);
  }
  if (waiting.empty()) return;
  const auto most =
      std::ranges::max_element(waiting, {}, [](const auto& each) { return each.second; });
  for (const auto& [rank, record] : records) {
    if (record->written_s < since_s + settled_s) continue;
    if (record->entered < first) {
      late.emplace(rank, fmt::format("has not entered {} #{}, which {} in", most->first, first,
                                     others(most->second, "waits", "wait")));
    } else if (record->waits_in == first && record->collective != most->first) {
      late.emplace(rank, fmt::format("waits in {} #{}, where {} in {}", record->collective, first,
                                     others(most->second, "is", "are"), most->first));
    }
  }
}

}  // namespace

Result<std::vector<RecordedGroup>> read_flight_record(std::string_view dump) {
  const auto document = document_of(dump);
  if (!document) return document.error();
  const auto entries = value_at<Json>(*document, "entries");
  if (!entries.is_array())
    return Error{ErrorKind::bad_request, "not a dump of PyTorch's flight recorder", ""};
  std::map<std::string, RecordedGroup> by_name;
  for (const Json& entry : entries) {
    if (entry.is_object()) take(entry, by_name);
  }
  std::vector<RecordedGroup> groups;
  for (auto& [name, group] : by_name) {
    group.group = name;
    groups.push_back(std::move(group));
  }
  std::ranges::stable_partition(groups, [](const auto& group) { return group.waits_in > 0; });
  if (groups.size() > most_groups) groups.resize(most_groups);
  return groups;
}

std::map<int, std::string> late_by_records(const std::vector<NodeStacks>& nodes) {
  std::map<std::string, ByRank> groups;
  for (const NodeStacks& node : nodes) {
    for (const ProcessStacks& process : node.processes) {
      if (process.parent != 0) continue;
      for (const RecordedGroup& group : process.recorded)
        groups[group.group].emplace(process.rank, &group);
    }
  }
  std::map<int, std::string> late;
  for (const auto& [name, records] : groups) judge(records, late);
  // With nested groups, one that waits in another group is late for this one's sake alone.
  std::set<int> waiting;
  for (const auto& [name, records] : groups) {
    for (const auto& [rank, record] : records) {
      if (record->waits_in > 0) waiting.insert(rank);
    }
  }
  const auto waits = [&](const auto& each) { return waiting.contains(each.first); };
  if (!std::ranges::all_of(late, waits)) std::erase_if(late, waits);
  return late;
}

}  // namespace dllaunch
