#include "launcher/daemon/curve.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

constexpr std::uint64_t whole_file_bytes = 1 << 20;
constexpr std::uint64_t chunk_bytes = 4096;

/// Takes whole lines. `from_middle`: drop the first, which may be partial.
void take_lines(std::string_view text, bool from_middle, std::size_t most_steps, Curve& curve) {
  if (from_middle) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::size_t steps = 0;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    auto event = parse_event(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!event) continue;
    if (auto* epoch = std::get_if<EpochEvent>(&*event)) curve.epochs.push_back(*epoch);
    auto* step = std::get_if<StepEvent>(&*event);
    if (step == nullptr || steps++ >= most_steps) continue;
    // After a restart from an earlier checkpoint, only the new incarnation's steps count.
    while (!curve.steps.empty() && curve.steps.back().step >= step->step) curve.steps.pop_back();
    curve.steps.push_back(*step);
  }
}

void thin_out(std::vector<StepEvent>& steps, std::size_t most) {
  if (steps.size() <= most || most == 0) return;
  std::vector<StepEvent> kept;
  kept.reserve(most);
  // The last point is always kept: it is the current step.
  for (std::size_t i = 1; i <= most; ++i) kept.push_back(steps[i * steps.size() / most - 1]);
  steps = std::move(kept);
}

}  // namespace

Curve read_curve(const std::string& events_path, std::size_t most) {
  Curve curve;
  const int fd = open_regular_file(events_path, FileLinks::refused);
  if (fd < 0) return curve;
  struct stat info {};
  if (fstat(fd, &info) == 0 && info.st_size > 0) {
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    if (bytes <= whole_file_bytes) {
      take_lines(bytes_at(fd, 0, bytes), false, SIZE_MAX, curve);
    } else {
      for (std::size_t i = 0; i < most; ++i) {
        const auto at = (bytes - chunk_bytes) / most * (i + 1);
        take_lines(bytes_at(fd, at, chunk_bytes), true, 1, curve);
      }
    }
  }
  close(fd);
  thin_out(curve.steps, most);
  return curve;
}

}  // namespace dllaunch
