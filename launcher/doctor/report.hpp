// The report of `dllaunch doctor` for one or many nodes: merge, JSON, text. Pure.
// It observes nothing itself; examine.hpp and gather.hpp do.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/doctor/gpu_rows.hpp"
#include "support/json.hpp"
#include "topology/diagnosis/diagnosis.hpp"

namespace dllaunch {

/// A rank on one line.
struct RankRow {
  int rank = -1;  // -1: not a rank
  int local_rank = 0;
  int pid = 0;
  std::string host = {};
  std::string job = {};  // "step 12.0", "mpirun 3482", "dllaunch spawn 3482"; empty: no rank
  std::string command = {};
  std::string cpus = {};
  std::string numa = {};
  std::vector<int> gpus = {};  // indexes of the GPUs it may use
  std::string memory = {};     // "default", "bind 0"
  int threads = 1;
};

struct Report {
  std::vector<std::string> hosts = {};
  std::vector<RankRow> ranks = {};
  std::vector<Finding> findings = {};
  std::vector<GpuRow> gpus = {};
  std::vector<std::pair<std::string, std::string>> unanswered = {};  // host, reason
  Json bench = nullptr;  // a list, one entry per host; null: not measured
};

/// Rows and findings of one job on one node. Names and environments of other users' processes are
/// escaped for a terminal, and cut.
Report report_of(const Topology& topology, const NodeObservation& node);

/// Adds `other` to `report`. Equal findings of two nodes become one, with the ranks of both;
/// findings of different jobs are kept separate.
void merge(Report& report, Report other);

Level worst(const Report& report);

/// Returns the document of `doctor --json`: host, ranks, findings, gpus, bench, and the nodes that
/// did not answer.
Json to_json(const Report& report);
/// bad_request: not a report.
Result<Report> report_from_json(const Json& document);

/// A table of ranks, equal ones on one line; then findings, worst first; then a one-line verdict.
std::string render_report(const Report& report, int columns, bool color);

}  // namespace dllaunch
