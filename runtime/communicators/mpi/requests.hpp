// MPI requests in progress, by operation.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/exchanges.hpp"
#include "support/fatal.hpp"

namespace dllaunch {

/// die() with MPI's error text unless `code` is MPI_SUCCESS.
void must(int code, std::string_view call, Here here = Here::now());

/// An operation is an exchange whose messages are requests.
class Requests {
 public:
  Pending open() { return operations_.open(); }
  /// Returns where to store the next request of `pending`; valid until the next call.
  MPI_Request* add(Pending pending);
  void at_end(Pending pending, std::function<void()> action) {
    operations_.at_end(pending, std::move(action));
  }

  bool empty() const { return requests_.empty(); }
  std::size_t live() const { return operations_.live(); }
  bool is_done(Pending pending) const { return operations_.is_done(pending); }

  void progress() { retire(MPI_Testsome, "MPI_Testsome"); }
  void wait_for_some() { retire(MPI_Waitsome, "MPI_Waitsome"); }

 private:
  using Call = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);

  void retire(Call call, std::string_view name);
  void drop_null_requests();

  Exchanges operations_;
  std::vector<MPI_Request> requests_;
  std::vector<std::int64_t> owners_;  // the operation of each request
  std::vector<int> finished_;         // ended in the latest call
  std::vector<MPI_Status> statuses_;
};

}  // namespace dllaunch
