// MPI requests in progress, by operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/mpi/mpi_module.hpp"
#include "runtime/communicators/peers/exchanges.hpp"
#include "support/fatal.hpp"

namespace dllaunch {

/// die() with MPI's error text unless `code` is 0.
void must(int code, std::string_view call, Here here = Here::now());

/// An operation is an exchange whose messages are requests.
class Requests {
 public:
  Pending open() { return operations_.open(); }
  /// Returns where to store the next request of `pending`; valid until the next call.
  void* add(Pending pending);
  void at_end(Pending pending, std::function<void()> action) {
    operations_.at_end(pending, std::move(action));
  }

  bool empty() const { return owners_.empty(); }
  std::size_t live() const { return operations_.live(); }
  bool is_done(Pending pending) const { return operations_.is_done(pending); }

  void progress() { retire(mpi().test_some, "MPI_Testsome"); }
  void wait_for_some() { retire(mpi().wait_some, "MPI_Waitsome"); }

 private:
  void retire(decltype(MpiTable::test_some) call, std::string_view name);
  void drop_finished();

  static constexpr std::int64_t no_operation = 0;
  Exchanges operations_;
  std::vector<std::byte> requests_;   // as MPI has them, request_bytes each
  std::vector<std::int64_t> owners_;  // the operation of each request
  std::vector<int> finished_;         // ended in the latest call
  std::vector<std::byte> statuses_;
};

}  // namespace dllaunch
