// A pre-flight check: observed on each node, judged over all nodes together.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/preflight/request.hpp"
#include "support/json.hpp"
#include "topology/diagnosis/diagnosis.hpp"

namespace dllaunch {

/// What a check may look at on its node.
struct NodeView {
  const PreflightRequest& request;
  System& system;
  std::string node = {};  // as in request.hosts
  std::string root = {};  // prefix of /proc, /sys and /dev, for tests
};

/// What a check observed of one item on one node.
struct NodeSample {
  std::string node = {};
  std::string item = {};  // "TMPDIR"; empty where there is only one
  Json seen = nullptr;
  std::string trouble = {};  // why there is no observation: hung, crashed, refused
};

struct PreflightResult {
  std::string name = {};  // of the check
  std::string item = {};
  Level level = Level::ok;
  std::string value = {};  // the measurement, human-readable
  std::string why = {};    // empty with Level::ok
  std::string fix = {};    // empty with Level::ok
  /// Another node may be at fault instead: the node book does not learn it. Not in JSON.
  bool shared = false;
};

struct NodeResult {
  std::string node = {};
  PreflightResult result = {};
};

/// Checks of one stage run in parallel. Measuring stages run alone.
enum class PreflightStage { state, gpu_speed, cpu_speed };

struct PreflightCheck {
  std::string_view name = {};
  std::string_view about = {};  // for documentation
  PreflightStage stage = PreflightStage::state;
  /// Per item, in a child process. An item that hangs loses its answer after this time.
  std::chrono::milliseconds limit{0};
  /// Returns the items on this node; must not touch a file system. Null: one item without a name.
  std::vector<std::string> (*items)(const NodeView& view) = nullptr;
  /// Runs in the child. Null: judges what another check observed.
  Result<Json> (*observe)(const NodeView& view, const std::string& item) = nullptr;
  /// Pure. `samples`: of the check named by `reads`, without those with trouble.
  std::vector<NodeResult> (*judge)(const PreflightRequest& request,
                                   const std::vector<NodeSample>& samples) = nullptr;
  std::string_view reads = {};  // empty: its own
  bool bounded_memory = true;  // false: GPU drivers reserve more address space than there is memory
};

/// In the order of the report. To add a check, define it in a file and list it here.
std::span<const PreflightCheck* const> preflight_checks();

/// For answers of other processes and nodes: nullopt if missing or of another type.
std::optional<double> number_of(const Json& seen, const char* key);
std::string text_of(const Json& seen, const char* key);
bool flag_of(const Json& seen, const char* key);

}  // namespace dllaunch
