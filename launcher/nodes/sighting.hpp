// What a run saw of nodes, as one line of the node book:
// {"time":1.5,"kind":"failed","cluster":"c","nodes":"n2","run":"17","value":1,"words":"...",
//  "sum":"85944171f73967e8"}
// `sum` is stable_hash() of the line before it: a line that was torn is known as such.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

enum class SightingKind {
  used,          // ranks ran there
  failed,        // the node was lost, or a rank died there of what may be its fault
  late,          // its ranks made the others wait
  measured,      // a figure of a pre-flight
  unfit,         // a pre-flight found it unfit
  gpu_error,     // XID errors, or memory errors that could not be corrected
  memory_error,  // corrected memory errors, counted since the node was booted
  corrupted,     // it computed wrong numbers
};
inline constexpr std::string_view sighting_names[] = {
    "used", "failed", "late", "measured", "unfit", "gpu_error", "memory_error", "corrupted"};

struct NodeSighting {
  double time = 0;  // Unix seconds
  SightingKind kind = SightingKind::used;
  std::string cluster = {};  // Slurm's name of it
  std::string nodes = {};    // a host list: `used` names all nodes of a run, the others one
  std::string run = {};      // the Slurm job
  /// used, late: seconds. failed, unfit: how much it counts against the node, 1 for a node that was
  /// lost. measured: the figure, more is better. gpu_error, memory_error, corrupted: how many.
  double value = 0;
  double of = 0;           // used, late: of so many seconds in which lateness was looked for
  std::string what = {};   // measured: "cpu GFLOP/s"
  std::string like = {};   // measured: the kind of node, whose nodes can be compared
  std::string words = {};  // for people: "rank 1 was killed by signal 7 (SIGBUS)"

  bool operator==(const NodeSighting&) const = default;
};

/// Of `nodes`. A longer list is no observation: split it.
inline constexpr std::size_t most_nodes_text = 16384;
/// Of what `used` lists name, each list once: the newest count, further ones are left out.
inline constexpr std::size_t most_listed_nodes = 400'000;
inline constexpr std::size_t most_used_nodes = 65536;  // different ones

/// The line, with its newline. Long texts are shortened.
std::string line_of(const NodeSighting& seen);

/// nullopt: torn, damaged, or of a newer dllaunch (a kind that is not known here). Texts are safe
/// for a terminal, numbers finite.
std::optional<NodeSighting> sighting_in(std::string_view line);

struct ReadSightings {
  std::vector<NodeSighting> all = {};   // in the order of the text
  std::vector<std::string> newer = {};  // whole lines that a newer dllaunch wrote, with newlines
  std::size_t damaged = 0;              // lines that are none, or longer than 64 KiB
  std::size_t left_out = 0;             // uses of too many nodes
};

/// Every line of a text. One that occurs twice counts once: a writer that could not be sure wrote
/// it again.
ReadSightings sightings_in(std::string_view text);

}  // namespace dllaunch
