// One thing that pre-flight looks at: seen on each node, judged over all nodes together.
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

/// Where a check looks. Nothing else of the machine is its to read.
struct NodeView {
  const PreflightRequest& request;
  System& system;
  std::string node = {};  // its name in request.hosts
  std::string root = {};  // before /proc, /sys and /dev; tests have their own
};

/// What one check saw of one thing on one node.
struct Sight {
  std::string node = {};
  std::string item = {};  // "TMPDIR"; empty where there is only one
  Json seen = nullptr;
  std::string trouble = {};  // why nothing was seen: hung, crashed, refused
};

struct PreflightResult {
  std::string name = {};  // the check's
  std::string item = {};
  Level level = Level::ok;
  std::string value = {};  // what was measured, for people
  std::string why = {};    // empty with Level::ok
  std::string fix = {};    // empty with Level::ok
};

struct NodeResult {
  std::string node = {};
  PreflightResult result = {};
};

/// Checks of one stage run beside each other. Those that measure wait until nothing else runs.
enum class PreflightStage { state, gpu_speed, cpu_speed };

struct PreflightCheck {
  std::string_view name = {};
  std::string_view about = {};  // for docs
  PreflightStage stage = PreflightStage::state;
  /// Each item has a child process of its own: one that hangs costs this long and its answer.
  std::chrono::milliseconds limit{0};
  /// What to look at on this node; must not touch a file system. Null: one item without a name.
  std::vector<std::string> (*items)(const NodeView& view) = nullptr;
  /// In the child. Null: it judges what another check saw.
  Result<Json> (*observe)(const NodeView& view, const std::string& item) = nullptr;
  /// Pure. `sights` are of the check named by `reads`, those with trouble left out.
  std::vector<NodeResult> (*judge)(const PreflightRequest& request,
                                   const std::vector<Sight>& sights) = nullptr;
  std::string_view reads = {};  // empty: its own
  bool bounded_memory = true;   // false: a GPU driver reserves more addresses than there is memory
};

/// In the order of the report. A new check is a file that defines one, and its line here.
std::span<const PreflightCheck* const> preflight_checks();

/// Of answers from other processes and nodes: absent where it is missing or of another kind.
std::optional<double> number_of(const Json& seen, const char* key);
std::string text_of(const Json& seen, const char* key);
bool flag_of(const Json& seen, const char* key);

}  // namespace dllaunch
