// Asks the ranks on this machine by a signal to save, without ending what does not know it. Used by
// local runs and by the supervisor on each node of a job.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dllaunch {

/// Each rank is asked once: all its processes that act on the signal get it. A shell, a pipe's
/// other end, an agent, a worker of a data loader would be ended by it, and the rank with them.
class AskRanks {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  using Ranks = std::map<std::string, std::vector<pid_t>>;

  /// `marks`: variables that tell processes of the ranks from others. `starter`: has them too and
  /// is none; 0: another machine's.
  AskRanks(Variables marks, int signal, pid_t starter = 0);

  /// Asks the ranks that have a process which acts on the signal by now, and have not been asked.
  /// `last`: for want of those, processes that have some handler of it are asked, such as shells.
  /// Returns their numbers.
  std::vector<std::string> look(bool last = false);

  /// Of the last look: ranks that have not been asked, and their processes.
  const Ranks& without_handler() const { return without_handler_; }

  /// Whether the ranks that were asked have other processes, which the signal would have ended.
  bool would_end_others() const { return would_end_others_; }

 private:
  Variables marks_;
  int signal_;
  pid_t starter_;
  std::set<std::string> asked_;
  Ranks without_handler_;
  bool would_end_others_ = false;
};

}  // namespace dllaunch
