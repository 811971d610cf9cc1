#include "launcher/accounting/rapl.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds pause(10);

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "intel-rapl:0", not its part "intel-rapl:0:1".
bool is_zone(const std::string& name) {
  return name.starts_with("intel-rapl:") && std::ranges::count(name, ':') == 1;
}

bool same_counters(const std::vector<RaplCounter>& one, const std::vector<RaplCounter>& other) {
  return std::ranges::equal(one, other, {}, &RaplCounter::path, &RaplCounter::path);
}

}  // namespace

std::optional<std::uint64_t> energy_between(std::uint64_t before, const RaplCounter& after) {
  if (after.now >= before) return after.now - before;
  if (after.range < before) return std::nullopt;
  return after.range - before + after.now;
}

std::vector<RaplCounter> read_rapl(const std::string& folder) {
  std::vector<RaplCounter> counters;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto path = entry.path().string();
    if (!is_zone(entry.path().filename().string())) continue;
    if (!first_line(path + "/name").starts_with("package")) continue;
    const auto now = parse_number<std::uint64_t>(first_line(path + "/energy_uj"));
    if (!now) return {};
    const auto range = parse_number<std::uint64_t>(first_line(path + "/max_energy_range_uj"));
    counters.push_back({.path = path, .now = *now, .range = range.value_or(0)});
  }
  std::ranges::sort(counters, {}, &RaplCounter::path);
  return counters;
}

RaplMeter::RaplMeter(std::string folder)
    : folder_(std::move(folder)),
      before_(read_rapl(folder_)),
      known_(!before_.empty()),
      next_(std::chrono::steady_clock::now() + pause) {}

void RaplMeter::take() {
  auto now = read_rapl(folder_);
  known_ = known_ && same_counters(before_, now);
  for (std::size_t i = 0; known_ && i < now.size(); ++i) {
    const auto used = energy_between(before_[i].now, now[i]);
    known_ = used.has_value();
    microjoules_ += used.value_or(0);
  }
  before_ = std::move(now);
}

void RaplMeter::look() {
  const auto now = std::chrono::steady_clock::now();
  if (!known_ || now < next_) return;
  next_ = now + pause;
  take();
}

std::optional<double> RaplMeter::joules() {
  if (known_) take();
  // A counter that stands still measures nothing: virtual machines have such ones.
  if (!known_ || microjoules_ == 0) return std::nullopt;
  return static_cast<double>(microjoules_) / 1e6;
}

}  // namespace dllaunch
