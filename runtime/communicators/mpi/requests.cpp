#include "runtime/communicators/mpi/requests.hpp"

#include <array>
#include <cassert>
#include <utility>

namespace dllaunch {

void must(int code, std::string_view call, Here here) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  die(call, std::string_view(text.data(), static_cast<std::size_t>(length)), here);
}

Pending Requests::open() {
  const Pending pending{next_id_++};
  live_[pending.id] = {};
  return pending;
}

MPI_Request* Requests::add(Pending pending) {
  ++live_.at(pending.id).unfinished;
  owners_.push_back(pending.id);
  return &requests_.emplace_back(MPI_REQUEST_NULL);
}

void Requests::at_end(Pending pending, std::function<void()> action) {
  live_.at(pending.id).at_end = std::move(action);
}

bool Requests::is_done(Pending pending) const {
  assert(pending.id < next_id_);
  return !live_.contains(pending.id);
}

void Requests::retire(Call call, std::string_view name) {
  if (requests_.empty()) return;
  finished_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = call(static_cast<int>(requests_.size()), requests_.data(), &count,
                        finished_.data(), statuses_.data());
  finished_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);  // MPI_UNDEFINED is negative
  if (code == MPI_ERR_IN_STATUS) {
    statuses_.resize(finished_.size());
    for (const MPI_Status& status : statuses_) must(status.MPI_ERROR, name);
  }
  must(code, name);
  for (const int index : finished_) finish_one_of(owners_[static_cast<std::size_t>(index)]);
  if (!finished_.empty()) drop_null_requests();
}

void Requests::finish_one_of(std::int64_t id) {
  const auto found = live_.find(id);
  assert(found != live_.end());
  Operation& operation = found->second;
  if (--operation.unfinished > 0) return;
  if (const auto action = std::exchange(operation.at_end, nullptr)) action();
  if (operation.unfinished == 0) live_.erase(id);
}

void Requests::drop_null_requests() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    owners_[kept] = owners_[i];
    ++kept;
  }
  requests_.resize(kept);
  owners_.resize(kept);
}

}  // namespace dllaunch
