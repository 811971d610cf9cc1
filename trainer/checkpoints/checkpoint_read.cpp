#include <algorithm>

#include <fmt/core.h>

#include "support/json.hpp"
#include "support/run_file.hpp"
#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/tensors/whole_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

Error unsound(std::string what) {
  return {ErrorKind::bad_request, std::move(what), ""};
}

/// Even the largest models have only thousands of class names; the rest is a few numbers.
Result<Ok> judge_state(std::uint64_t bytes) {
  constexpr std::uint64_t most = 256 << 20;
  if (bytes <= most) return Ok{};
  return unsound(fmt::format("state.json has {} bytes: none is larger than {}", bytes, most));
}

/// Returns the document if its own checksum matches; its fields can then be trusted.
Result<Json> read_state(const fs::path& file) {
  auto content = read_whole_file(file, judge_state);
  if (!content) return std::move(content).error();
  std::string text(reinterpret_cast<const char*>(content->data()), content->size());
  const std::size_t found = text.rfind(checksum_of_itself);
  const std::size_t own = found + checksum_of_itself.size();
  if (found == std::string::npos || text.size() < own + no_checksum.size()) {
    return unsound("state.json is truncated or damaged: it has no checksum");
  }
  const std::string written = text.substr(own, no_checksum.size());
  text.replace(own, no_checksum.size(), no_checksum);
  if (checksum(std::as_bytes(std::span(text))) != written) {
    return unsound("state.json is damaged: its checksum does not match");
  }
  Json state = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object()) return unsound("state.json is not a JSON object");
  if (state.value("format", 0) != 1) {
    return unsound(
        fmt::format("state.json has format {}, this program reads 1", state.value("format", 0)));
  }
  return state;
}

Result<TensorFile> read_tensors(const fs::path& file, const Json& state) {
  const std::string name = file.filename().string();
  const auto bytes = state.at("bytes").at(name).get<std::uint64_t>();
  const auto judge = [&](std::uint64_t size) -> Result<Ok> {
    if (size == bytes) return Ok{};
    return unsound(fmt::format("{} is {}: {} of {} bytes", name,
                               size < bytes ? "truncated" : "too long", size, bytes));
  };
  auto content = read_whole_file(file, judge);
  if (!content) return std::move(content).error();
  if (checksum(*content) != state.at("checksums").at(name).get<std::string>()) {
    return unsound(name + " is damaged: its checksum does not match");
  }
  auto tensors = parse_safetensors(*content);
  if (!tensors) return std::move(tensors).error().within(name);
  return tensors;
}

/// Checkpoints of earlier versions have none.
std::map<std::string, double> metrics_of(const Json& state) {
  return state.value("metrics", std::map<std::string, double>());
}

/// Other precisions than fp16 have none.
LossScale loss_scale_of(const Json& state) {
  const auto found = state.find("loss_scale");
  if (found == state.end()) return {};
  return {.factor = found->at("factor"), .good_steps = found->at("good_steps")};
}

Checkpoint checkpoint_of(const Json& state) {
  Checkpoint checkpoint;
  checkpoint.position = {.epoch = state.at("epoch"),
                         .step = state.at("step"),
                         .images = state.at("sampler").at("position"),
                         .loss_sum = state.at("epoch_sums").at("loss"),
                         .correct = state.at("epoch_sums").at("correct"),
                         .lr = state.value("lr", 0.0),
                         .loss_scale = loss_scale_of(state)};
  checkpoint.model = state.at("model");
  checkpoint.optimizer = state.at("optimizer");
  checkpoint.seed = state.at("rng").at("seed");
  checkpoint.ranks = state.at("ranks");
  checkpoint.global_batch = state.at("global_batch");
  checkpoint.class_names = state.at("class_names").get<std::vector<std::string>>();
  checkpoint.normalization.mean = state.at("normalization").at("mean").get<std::vector<double>>();
  checkpoint.normalization.std = state.at("normalization").at("std").get<std::vector<double>>();
  checkpoint.metrics = metrics_of(state);
  return checkpoint;
}

}  // namespace

Result<std::map<std::string, double>> read_metrics(const fs::path& step_directory) {
  try {
    auto state = read_state(step_directory / "state.json");
    if (!state) return std::move(state).error();
    return metrics_of(*state);
  } catch (const JsonError& problem) {
    return unsound(std::string("state.json is incomplete: ") + problem.what());
  }
}

Result<Checkpoint> read_checkpoint(const fs::path& step_directory) {
  try {
    auto state = read_state(step_directory / "state.json");
    if (!state) return std::move(state).error();
    auto weights = read_tensors(step_directory / "model.safetensors", *state);
    if (!weights) return std::move(weights).error();
    auto states = read_tensors(step_directory / "optimizer.safetensors", *state);
    if (!states) return std::move(states).error();
    Checkpoint checkpoint = checkpoint_of(*state);
    checkpoint.weights = *std::move(weights);
    checkpoint.states = *std::move(states);
    return checkpoint;
  } catch (const JsonError& problem) {
    return unsound(std::string("state.json is incomplete: ") + problem.what());
  }
}

/// "step-" and eight digits or more.
bool names_a_step(const std::string& name) {
  constexpr std::string_view before = "step-";
  constexpr std::size_t fewest_digits = 8;
  return name.starts_with(before) && name.size() >= before.size() + fewest_digits &&
         name.find_first_not_of("0123456789", before.size()) == std::string::npos;
}

std::vector<fs::path> list_checkpoints(const fs::path& folder, std::error_code& failed) {
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (names_a_step(at->path().filename().string())) paths.push_back(at->path());
  }
  const bool absent =
      failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
  if (absent) failed.clear();
  std::ranges::sort(paths, [](const fs::path& a, const fs::path& b) {
    return is_later_step(a.filename().string(), b.filename().string());
  });
  return paths;
}

std::vector<fs::path> list_checkpoints(const fs::path& folder) {
  std::error_code ignored;
  return list_checkpoints(folder, ignored);
}

namespace {

Error unreadable(const fs::path& path, const std::string& why) {
  return {ErrorKind::unavailable, fmt::format("cannot read {}: {}", path.string(), why),
          "check that its file system works and that you can read it, then run again: it resumes"};
}

}  // namespace

CheckpointSearch find_newest_checkpoint(const fs::path& folder) {
  // A previous incarnation that is still running may write a newer checkpoint and remove the one
  // being read: then search again.
  constexpr int most_tries = 10;
  CheckpointSearch search;
  for (int i = 0; i < most_tries; ++i) {
    search = {};
    bool gone = false;
    std::error_code failed;
    const auto steps = list_checkpoints(folder, failed);
    if (failed) search.unreadable = unreadable(folder, failed.message());
    for (const auto& path : steps) {
      if (search.unreadable) break;
      auto checkpoint = read_checkpoint(path);
      if (checkpoint) {
        search.found = FoundCheckpoint{path, *std::move(checkpoint)};
        break;
      }
      std::error_code unknown;
      gone = gone || (!fs::exists(path, unknown) && !unknown);
      if (checkpoint.error().kind == ErrorKind::unavailable) {
        search.unreadable = unreadable(path, checkpoint.error().what);
        break;
      }
      search.refused.push_back({path, checkpoint.error().what});
    }
    if (!gone) break;
  }
  return search;
}

}  // namespace dllaunch
