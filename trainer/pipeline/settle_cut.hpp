// The cut of a network into the stages of a pipeline: the user's, or chosen by what segments cost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/graph/graph.hpp"
#include "trainer/pipeline/partition.hpp"
#include "trainer/pipeline/segment_costs.hpp"
#include "trainer/pipeline/segment_times.hpp"

namespace dllaunch {

struct CutOptions {
  int stages = 1;
  std::vector<std::string> after =
      {};                 // the last node of each stage but the last, or a block's
                          // name: "layer2" is the last node of layer2.*; empty: chosen
  int micro_batches = 1;  // per step
  TrainingSizes sizes = {};
  double seconds_per_byte = 1e-9;                 // to the next stage's rank
  std::optional<std::int64_t> memory_bytes = {};  // that this rank may use; absent: not known
  /// Asked for memory_bytes after measuring, which finds out what computes. Empty: they are known.
  std::function<std::optional<std::int64_t>()> memory_left = {};
};

/// What the ranks of one stage hold.
struct StageOutline {
  std::string first;  // node after the stage's input
  std::string last;
  std::int64_t parameters = 0;  // elements
  StageCost cost;
};

struct Cut {
  std::vector<int> after;  // nodes, as cut_graph() takes them
  std::vector<StageOutline> stages;
  bool measured = false;  // else seconds are estimates that only compare: estimate_segment()
  int micro_batches = 1;
  double step_seconds = 0;  // predicted: cost_of()
  double idle = 0;          // part of a step that ranks wait for other stages, on average
};

/// Pure: with the estimates of estimate_segment(). Errors as for settle_cut().
Result<Cut> estimate_cut(const Graph& whole, const CutOptions& options);

/// Collective; the same on every rank, where `options` may differ in memory_bytes: the least
/// counts. Measures unless the user gives the cut. bad_request: a name is no node, or there is no
/// cut after it; says which are near. unsatisfiable: choose_partition()'s. Fails on all ranks if it
/// fails on one, like agree().
Result<Cut> settle_cut(const Graph& whole, const CutOptions& options, const CompileSegment& compile,
                       Communicator& world);

/// Returns lines for the log: one per stage, and what a step waits.
std::vector<std::string> cut_lines(const Cut& cut);

}  // namespace dllaunch
