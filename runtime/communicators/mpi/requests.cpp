#include "runtime/communicators/mpi/requests.hpp"

#include <array>

namespace dllaunch {

void must(int code, std::string_view call, Here here) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  die(call, std::string_view(text.data(), static_cast<std::size_t>(length)), here);
}

MPI_Request* Requests::add(Pending pending) {
  operations_.add(pending);
  owners_.push_back(pending.id);
  return &requests_.emplace_back(MPI_REQUEST_NULL);
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
  for (const int index : finished_) {
    operations_.finish_one_of(owners_[static_cast<std::size_t>(index)]);
  }
  if (!finished_.empty()) drop_null_requests();
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
