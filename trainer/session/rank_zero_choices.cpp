#include "trainer/session/rank_zero_choices.hpp"

#include <cstdint>
#include <utility>

namespace dllaunch {

std::string RankZeroChoices::share(std::string mine) {
  if (std::exchange(done_, true)) return "";
  auto size = static_cast<std::int64_t>(mine.size());
  communicator_.wait(communicator_.broadcast(&size, 1, DType::i64, /*root=*/0));
  mine.resize(static_cast<std::size_t>(size));
  communicator_.wait(communicator_.broadcast(mine.data(), mine.size(), DType::u8, /*root=*/0));
  return mine;
}

}  // namespace dllaunch
