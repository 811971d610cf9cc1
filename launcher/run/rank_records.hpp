// RUN/ranks/NODE.jsonl: that a rank began and how it ended, a line each, written by the shim
// around it. An exit code of 0 of srun proves neither: it says 0 also where it started no rank.
// {"time": 1.5, "rank": 0, "generation": 3, "ranks": 4}
// {"time": 9.5, "rank": 0, "generation": 3, "exit_code": 0}
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/run/run_dir.hpp"
#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Of one rank, for its shim.
class RankLifeRecord {
 public:
  /// Writes that the rank began. `fencing_token`: of this start of the run; 0: unknown.
  /// unavailable: the file cannot be written.
  static Result<RankLifeRecord> begin(const std::string& run_dir, const std::string& host, int rank,
                                      int ranks, std::int64_t fencing_token);

  RankLifeRecord(RankLifeRecord&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        rank_(other.rank_),
        fencing_token_(other.fencing_token_) {}
  RankLifeRecord& operator=(RankLifeRecord&&) = delete;
  ~RankLifeRecord();

  /// Writes how it ended, as far as the file system permits.
  void end(int wait_status) const;

 private:
  RankLifeRecord(int fd, int rank, std::int64_t fencing_token)
      : fd_(fd), rank_(rank), fencing_token_(fencing_token) {}

  int fd_;
  int rank_;
  std::int64_t fencing_token_;
};

/// What a shim says on standard error if it cannot write its record.
std::string unrecorded_words(int rank, const std::string& host, const Error& why);

struct RankLife {
  std::string host = {};
  double ended_s = 0;  // Unix seconds of its node; 0: it goes on, or was killed with its shim
  int exit_code = 0;
  int signal = 0;
  uid_t user = 0;  // whose its node's record is
};

struct RanksOfStart {
  int ranks = 0;                       // as they were told; 0: none has begun
  std::map<int, RankLife> lives = {};  // by rank: those that began
};

/// Reads the records of the start with this token; of the run's current start if it is 0.
/// `since_s`: Unix seconds of its begin; ranks that did not know their token count if they are
/// younger.
RanksOfStart ranks_of_start(const RunDir& run, std::int64_t fencing_token, double since_s);

/// Returns the ranks that left no record, neither there nor in `output`, the starter's. `planned`:
/// how many there should be, if none knows.
IdSet never_began(const RanksOfStart& start, int planned, std::string_view output);

/// "ranks 2-3 did not begin: srun: error: task 2 launch failed: ...". `why`: a line of the
/// starter's; empty: it exited with code 0 and said nothing.
std::string words_of_unbegun(const IdSet& ranks, std::string_view why);

/// Whether ranks of the run's current start have begun and not ended.
bool ranks_go_on(const RunDir& run);

/// "rank 0 on n1 ended with exit code 0 at 10:03:04; ranks 1-3 have not ended"; empty: no rank has
/// ended, or all have.
std::string words_of_who_left(const RanksOfStart& start);
/// Of the start that goes on; empty also between two starts.
std::string words_of_who_left(const RunDir& run);

/// The same when the run is over: of ranks that ended with 0 although others did not, at least some
/// seconds before these.
std::string words_of_who_left_early(const RanksOfStart& start);

}  // namespace dllaunch
