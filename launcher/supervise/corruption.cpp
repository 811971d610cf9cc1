#include "launcher/supervise/corruption.hpp"

#include <algorithm>

#include "launcher/base/split.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// The job's node of that host name, which may have a domain; the host itself without a job.
std::string node_of(const std::string& host, const std::vector<std::string>& nodes) {
  const auto first = host.substr(0, host.find('.'));
  const auto same = [&](const std::string& node) { return node == host || node == first; };
  const auto found = std::ranges::find_if(nodes, same);
  return found == nodes.end() ? "" : *found;
}

/// Whether no step was made after the last notice: one that tells only what was found goes on.
bool has_ended_with_it(std::string_view events) {
  const auto last = events.rfind("\"event\":\"corrupted\"");
  const auto after = events.substr(std::min(last, events.size()));
  return after.find("\"event\":\"step\"") == std::string_view::npos &&
         after.find("\"event\":\"epoch\"") == std::string_view::npos;
}

}  // namespace

std::vector<JournalCorruption> corruptions_in(std::string_view events, std::int64_t fencing_token,
                                              const std::vector<std::string>& nodes) {
  std::vector<JournalCorruption> found;
  for (const auto text : split_lines(events)) {
    if (text.find("\"corrupted\"") == std::string_view::npos) continue;
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    const bool ours = line.is_object() && value_at<std::string>(line, "event") == "corrupted" &&
                      value_at<std::int64_t>(line, "generation") == fencing_token;
    if (!ours) continue;
    JournalCorruption one{.time = value_at<double>(line, "time"),
                          .fencing_token = fencing_token,
                          .step = value_at<std::int64_t>(line, "step"),
                          .since = value_at<std::int64_t>(line, "since"),
                          .what = value_at<std::vector<std::string>>(line, "what"),
                          .how = value_at<std::string>(line, "how"),
                          .line = value_at<std::string>(line, "line")};
    const auto ranks = value_at<std::vector<int>>(line, "ranks");
    const auto hosts = value_at<std::vector<std::string>>(line, "hosts");
    if (ranks.empty() || hosts.size() != ranks.size()) {
      found.push_back(std::move(one));
      continue;
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      one.rank = ranks[i];
      one.host = hosts[i];
      one.node = node_of(hosts[i], nodes);
      found.push_back(one);
    }
  }
  return found;
}

std::vector<JournalCorruption> look_for_corruptions(const RunDir& run, const JobAllocation& where,
                                                    std::int64_t fencing_token, Attempt& attempt) {
  constexpr std::size_t most_bytes = std::size_t{1} << 18;  // it is among the last lines
  const auto nodes = expand_hosts(where.nodes);
  const auto events = file_end(run.events(), most_bytes);
  auto found = corruptions_in(events, fencing_token, nodes ? *nodes : std::vector<std::string>());
  for (auto& one : found) {
    one.job = attempt.job;
    one.allocation = attempt.allocation;
  }
  const bool failed = attempt.cause == Cause::failed || attempt.cause == Cause::unproven;
  if (found.empty() || !failed || !has_ended_with_it(events)) return found;
  attempt.cause = Cause::corrupted;
  attempt.detail = found.back().line;
  attempt.dead.rank = found.back().rank;
  attempt.dead.host = found.back().host;
  attempt.asks = found.back().how == "pending";
  return found;
}

BadNodes bad_nodes(const std::vector<JournalCorruption>& found) {
  BadNodes bad{.why = "its numbers were wrong"};
  const JournalCorruption* before = nullptr;
  for (const auto& one : found) {
    const bool same_start =
        before != nullptr && before->fencing_token == one.fencing_token && before->node == one.node;
    if (!one.node.empty() && !same_start) bad.nodes.push_back(one.node);
    before = &one;
  }
  return bad;
}

}  // namespace dllaunch
