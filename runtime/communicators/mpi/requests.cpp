#include "runtime/communicators/mpi/requests.hpp"

#include <cstring>

namespace dllaunch {

void must(int code, std::string_view call, Here here) {
  if (code != 0) die(call, mpi().error(code), here);
}

void* Requests::add(Pending pending) {
  operations_.add(pending);
  owners_.push_back(pending.id);
  const std::size_t bytes = mpi().request_bytes;
  requests_.resize(owners_.size() * bytes);
  return requests_.data() + requests_.size() - bytes;
}

void Requests::retire(decltype(MpiTable::test_some) call, std::string_view name) {
  if (owners_.empty()) return;
  finished_.resize(owners_.size());
  statuses_.resize(owners_.size() * mpi().status_bytes);
  int count = 0;
  must(call(static_cast<int>(owners_.size()), requests_.data(), &count, finished_.data(),
            statuses_.data()),
       name);
  finished_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);  // negative: none was active
  if (finished_.empty()) return;
  for (const int index : finished_) {
    // The action at the end of an operation may add requests.
    operations_.finish_one_of(
        std::exchange(owners_[static_cast<std::size_t>(index)], no_operation));
  }
  drop_finished();
}

void Requests::drop_finished() {
  const std::size_t bytes = mpi().request_bytes;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i] == no_operation) continue;
    if (kept != i) {
      owners_[kept] = owners_[i];
      std::memcpy(requests_.data() + kept * bytes, requests_.data() + i * bytes, bytes);
    }
    ++kept;
  }
  requests_.resize(kept * bytes);
  owners_.resize(kept);
}

}  // namespace dllaunch
