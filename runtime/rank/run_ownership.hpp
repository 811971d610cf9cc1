// Who may write into a run's directory: the highest generation, and nobody else.
//
//   RUN/.lease/1  RUN/.lease/2 ...      a name for each time it was taken; the newest few stay
//
// A name counts, its content is only for messages. Slurm can run a job twice at once (a node that
// lost its network works on): the older one finds a higher name than its own and stops.
// Nothing here waits, but every call asks the file system, and one that hangs hangs the call: who
// must not, asks from a thread or process that may be given up.
// A network file system that caches directories shows a new name late (NFS: acdirmax, a minute by
// default). So this keeps two lives from writing side by side, and what both wrote meanwhile must
// be harmless by itself: docs/recovery.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

struct RunOwner {
  std::string host = {};  // empty: what was written of the owner is damaged
  std::int64_t pid = 0;
  std::string job = {};  // "1234", or empty
  int restart = 0;
  double since = 0;  // Unix seconds
};

class RunOwnership {
 public:
  /// Takes the run's directory: one more than the highest generation there. Of any number of takers
  /// at once, on any nodes, each gets another generation. Whoever had it before is fenced at once.
  /// `above`: and more than this, of which something else in the directory tells: it may have been
  /// copied without its leases.
  /// unavailable: the directory is not there or cannot be written. timeout: others always came
  /// first.
  static Result<RunOwnership> take(const std::filesystem::path& run_dir, const RunOwner& owner,
                                   std::int64_t above = 0);

  /// What a rank was told by whoever started it (DLLAUNCH_GENERATION); makes nothing.
  static RunOwnership told(std::filesystem::path run_dir, std::int64_t generation);

  std::int64_t generation() const { return generation_; }

  /// unsatisfiable: a higher generation is there: "run directory was taken over by job 17 on n3
  /// (generation 4, ours is 3)". unavailable: the directory cannot be read now, which tells
  /// nothing. A run's directory without leases fences nobody.
  Result<Ok> check() const;

 private:
  RunOwnership(std::filesystem::path run_dir, std::int64_t generation)
      : run_dir_(std::move(run_dir)), generation_(generation) {}

  std::filesystem::path run_dir_;
  std::int64_t generation_ = 0;
};

/// The present owner and its generation; nothing where none ever was. unavailable: the directory
/// cannot be read.
Result<std::optional<std::pair<std::int64_t, RunOwner>>> run_owner(
    const std::filesystem::path& run_dir);

/// "job 17 on n3", "process 4711 on n3", "another dllaunch".
std::string to_string(const RunOwner& owner);

/// The environment variable that tells a rank its generation.
inline constexpr const char* generation_variable = "DLLAUNCH_GENERATION";

/// A whole number from 1; nothing otherwise.
std::optional<std::int64_t> parse_generation(std::string_view text);

}  // namespace dllaunch
