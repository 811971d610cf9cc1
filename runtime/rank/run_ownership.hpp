// Ownership of a run directory by fencing tokens: only the highest token may write.
//
//   RUN/.lease/1  RUN/.lease/2 ...      one name per taking; the newest few stay
//
// Only the names count; their content is for messages. Slurm can run a job twice at once (a node
// that lost its network keeps running): the older incarnation finds a higher name and stops.
// Nothing here waits, but every call accesses the file system and may hang with it. Callers that
// must not block should call from a disposable thread or process. A network file system that caches
// directories shows a new name late (NFS: acdirmax, one minute by default). So two incarnations may
// write side by side for that long, and these writes must be harmless:
// docs/explanation/recovery.md.
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
  std::string host = {};  // empty: the owner's record is damaged
  std::int64_t pid = 0;
  std::string job = {};  // "1234", or empty
  int restart = 0;
  double since = 0;  // Unix seconds
};

class RunOwnership {
 public:
  /// Takes the run directory with a token one above the highest there. Concurrent takers on any
  /// nodes get distinct tokens. The previous owner is fenced at once. The token is also above
  /// `above`, which the caller knows from other files: the directory may have been copied without
  /// its tokens.
  /// unavailable: the directory is missing or not writable. timeout: lost to other takers each
  /// time.
  static Result<RunOwnership> take(const std::filesystem::path& run_dir, const RunOwner& owner,
                                   std::int64_t above = 0);

  /// The ownership that the launcher passed to this rank (DLLAUNCH_GENERATION); creates nothing.
  static RunOwnership told(std::filesystem::path run_dir, std::int64_t fencing_token);

  std::int64_t fencing_token() const { return fencing_token_; }

  /// unsatisfiable: a higher token exists: "run directory was taken over by job 17 on n3
  /// (fencing token 4, ours is 3)".
  /// unavailable: the directory cannot be read now, so the owner is unknown. A run directory
  /// without tokens fences no one.
  Result<Ok> check() const;

 private:
  RunOwnership(std::filesystem::path run_dir, std::int64_t fencing_token)
      : run_dir_(std::move(run_dir)), fencing_token_(fencing_token) {}

  std::filesystem::path run_dir_;
  std::int64_t fencing_token_ = 0;
};

/// Returns the current token and owner; nullopt if there never was one. unavailable: the directory
/// cannot be read.
Result<std::optional<std::pair<std::int64_t, RunOwner>>> run_owner(
    const std::filesystem::path& run_dir);

/// "job 17 on n3", "process 4711 on n3", "another dllaunch".
std::string to_string(const RunOwner& owner);

/// The environment variable that passes a rank its token.
inline constexpr const char* fencing_token_variable = "DLLAUNCH_GENERATION";

/// Parses an integer from 1 up; nullopt otherwise.
std::optional<std::int64_t> parse_fencing_token(std::string_view text);

}  // namespace dllaunch
