#include "trainer/data/ready_batches.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace dllaunch {

Result<std::size_t> ready_batches(const BatchMemory& memory) {
  const auto workers = static_cast<std::size_t>(memory.workers);
  const std::size_t wanted = workers == 0 ? 1 : std::max<std::size_t>(3, 2 * workers);
  const auto left = static_cast<std::size_t>(std::max<std::int64_t>(memory.left, 0));
  const std::size_t images = left / std::max<std::size_t>(memory.image_bytes, 1);
  const std::size_t fit = images / static_cast<std::size_t>(memory.batch_size);
  if (fit > 0) return std::clamp<std::size_t>(fit / 2, 1, wanted);
  const auto gib = [](double bytes) { return bytes / (1 << 30); };
  const double needed =
      static_cast<double>(memory.image_bytes) * static_cast<double>(memory.batch_size);
  return Error{ErrorKind::unavailable,
               fmt::format("a batch of {} images needs {:.2f} GiB of the host's memory, and {:.2f} "
                           "GiB are left for this rank",
                           memory.batch_size, gib(needed), gib(static_cast<double>(left))),
               images > 0 ? fmt::format("batch_size {} would fit", images)
                          : "ask for more memory, or fewer ranks per node"};
}

}  // namespace dllaunch
