#include "trainer/data/skipped_images.hpp"

#include <utility>

#include <fmt/core.h>

namespace dllaunch {

void SkippedImages::add(const std::vector<Error>& skipped) {
  constexpr std::size_t most_told = 10;
  count_ += static_cast<std::int64_t>(skipped.size());
  for (const Error& error : skipped) {
    if (told_.size() == most_told || !told_.insert(error.what).second) continue;
    warn_(fmt::format("skipped {}", error.what));
    if (told_.size() == most_told) warn_("further bad images of this rank are only counted");
  }
}

std::int64_t SkippedImages::take_sum(Communicator& communicator) {
  std::int64_t sum = std::exchange(count_, 0);
  communicator.wait(communicator.all_reduce(&sum, 1, DType::i64, ReduceOp::sum));
  return sum;
}

std::string render_skipped(std::int64_t skipped) {
  if (skipped == 0) return "";
  return fmt::format(", {} bad image{} skipped", skipped, skipped == 1 ? "" : "s");
}

}  // namespace dllaunch
