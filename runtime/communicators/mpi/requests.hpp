// MPI requests in progress, grouped by operation.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/fatal.hpp"

namespace dllaunch {

/// die() with MPI's error text unless `code` is MPI_SUCCESS.
void must(int code, std::string_view call, Here here = Here::now());

/// An operation has one or more requests. It is done, and forgotten, when the last one is.
class Requests {
 public:
  /// Starts an operation without requests; at least one must be added.
  Pending open();
  /// Returns where to store the next request of `pending`; valid until the next call.
  MPI_Request* add(Pending pending);
  /// Sets an action to run when the last request of `pending` ends, before it counts as done. The
  /// action may add requests and another action, which continues the operation.
  void at_end(Pending pending, std::function<void()> action);

  bool empty() const { return requests_.empty(); }
  std::size_t live() const { return live_.size(); }  // operations that are not done
  bool is_done(Pending pending) const;

  void progress() { retire(MPI_Testsome, "MPI_Testsome"); }
  void wait_for_some() { retire(MPI_Waitsome, "MPI_Waitsome"); }

 private:
  struct Operation {
    int unfinished = 0;
    std::function<void()> at_end;
  };
  using Call = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);

  void retire(Call call, std::string_view name);
  void finish_one_of(std::int64_t id);
  void drop_null_requests();

  std::int64_t next_id_ = 1;
  std::unordered_map<std::int64_t, Operation> live_;
  std::vector<MPI_Request> requests_;
  std::vector<std::int64_t> owners_;  // the operation of each request
  std::vector<int> finished_;         // ended in the latest call
  std::vector<MPI_Status> statuses_;
};

}  // namespace dllaunch
