#include "trainer/backends/gpu/layers/engine_book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "runtime/rank/measured.hpp"

namespace dllaunch::gpu {
namespace {

constexpr const char* measured_name = "convolutions";

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string family_of(ConvolutionShape shape, Pass pass) {
  shape.x.rows = 0;
  shape.y.rows = 0;
  return text_of(shape, pass);
}

std::vector<Measurement> measurements_of(const std::map<std::string, EngineId>& engines,
                                         std::string_view before) {
  std::vector<Measurement> all;
  all.reserve(engines.size());
  for (const auto& [key, id] : engines) {
    all.push_back({.key = std::string(before) + key, .values = id});
  }
  return all;
}

}  // namespace

std::string_view to_string(Relaxation relaxation) {
  switch (relaxation) {
    case Relaxation::none:
      return "exact";
    case Relaxation::winograd:
      return "Winograd (larger rounding errors)";
    case Relaxation::fft:
      return "FFT (larger rounding errors)";
    case Relaxation::rounded_inputs:
      return "inputs rounded to TF32";
    case Relaxation::rounded_sums:
      return "sums of reduced precision";
    case Relaxation::unordered:
      return "nondeterministic sums";
  }
  return "";
}

EngineBook::EngineBook(std::filesystem::path file, std::string machine, Clock clock)
    : file_(std::move(file)),
      machine_(std::move(machine)),
      clock_(clock ? std::move(clock) : steady_seconds) {
  // As keys in files are.
  std::ranges::replace_if(
      machine_, [](char c) { return c == ' '; }, '_');
  if (file_.empty()) return;
  const std::string before = machine_ + ",";
  for (Measurement& measured : recall_all(file_)) {
    if (!measured.key.starts_with(before) || measured.values.empty()) continue;
    stored_.emplace(measured.key.substr(before.size()), std::move(measured.values));
  }
}

std::optional<EngineId> EngineBook::find(const ConvolutionShape& shape, Pass pass) const {
  const std::string key = text_of(shape, pass);
  for (const auto* engines : {&chosen_, &stored_}) {
    if (const auto at = engines->find(key); at != engines->end()) return at->second;
  }
  return std::nullopt;
}

std::optional<std::int64_t> EngineBook::of_another_batch(const ConvolutionShape& shape,
                                                         Pass pass) const {
  const auto at = families_.find(family_of(shape, pass));
  if (at == families_.end()) return std::nullopt;
  return at->second;
}

void EngineBook::choose(const ConvolutionShape& shape, Pass pass, const EngineId& id, bool tried) {
  const std::string key = text_of(shape, pass);
  chosen_[key] = id;
  if (!tried) return;
  families_[family_of(shape, pass)] = id.front();
  const auto before = stored_.find(key);
  if (before == stored_.end() || before->second != id) unsaved_[key] = id;
}

void EngineBook::forget(const ConvolutionShape& shape, Pass pass) {
  const std::string key = text_of(shape, pass);
  for (auto* engines : {&stored_, &chosen_, &unsaved_}) engines->erase(key);
}

std::string EngineBook::text() const {
  return text_of_measurements(measurements_of(chosen_, ""));
}

void EngineBook::follow(std::string_view text) {
  for (Measurement& measured : dllaunch::measurements_of(text)) {
    if (!measured.values.empty()) chosen_[measured.key] = std::move(measured.values);
  }
}

void EngineBook::save() {
  if (file_.empty() || unsaved_.empty()) return;
  static_cast<void>(keep_all(file_, measurements_of(unsaved_, machine_ + ",")));
  stored_.insert(unsaved_.begin(), unsaved_.end());
  unsaved_.clear();
}

double EngineBook::deadline() const {
  return now() + std::clamp(left_, 0.0, search_seconds_each);
}

void EngineBook::relaxed(Relaxation how, const ConvolutionShape& shape, Pass pass) {
  if (how != Relaxation::none) relaxed_[how].push_back(text_of(shape, pass));
}

void EngineBook::tell_relaxations() {
  std::vector<std::string> parts;
  for (const auto& [how, convolutions] : std::exchange(relaxed_, {})) {
    parts.push_back(fmt::format("{}: {}", to_string(how), fmt::join(convolutions, " ")));
  }
  if (parts.empty()) return;
  warn(fmt::format("no exact and deterministic engine runs some convolutions on this GPU: {}",
                   fmt::join(parts, "; ")));
}

std::shared_ptr<EngineBook> shared_engine_book(const EnvLookup& lookup,
                                               const std::string& machine) {
  static std::mutex mutex;
  static std::map<std::pair<std::filesystem::path, std::string>, std::shared_ptr<EngineBook>> books;
  const auto file = measured_file(lookup, measured_name).value_or("");
  const std::lock_guard lock(mutex);
  auto& book = books[{file, machine}];
  if (!book) book = std::make_shared<EngineBook>(file, machine);
  return book;
}

}  // namespace dllaunch::gpu
