// The MPI requests under way, and the operations they belong to.
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

/// die() with MPI's own words unless `code` is MPI_SUCCESS.
void must(int code, std::string_view call, Here here = Here::now());

/// An operation is one or more requests; it is done, and forgotten, when its last request is.
class Requests {
 public:
  /// An operation with no request yet; it must get at least one.
  Pending open();
  /// Where the next request of `pending` goes; valid until the next call.
  MPI_Request* add(Pending pending);
  /// Called when the last request of `pending` has ended, before anyone is told. It may add
  /// requests and another action: then the operation goes on.
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
  std::vector<int> finished_;         // what the latest call ended
  std::vector<MPI_Status> statuses_;
};

}  // namespace dllaunch
