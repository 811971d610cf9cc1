#include "trainer/tuning/bucket_choice.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <xxhash.h>

#include "runtime/rank/measured.hpp"

namespace dllaunch {
namespace {

// The default first, then by expected benefit: the last are not tried if time is short.
constexpr std::array<std::int64_t, 5> sizes_mib = {25, 4, 12, 1, 64};

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string hash_of(std::span<const std::string> table) {
  std::string all;
  for (const std::string& row : table) all += fmt::format("{} {}\n", row.size(), row);
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

}  // namespace

BucketChoice::BucketChoice(Communicator& communicator, ParameterArenas& arenas,
                           GradientReducer& reducer, BucketPlace place, bool tune,
                           TunerLimits limits)
    : communicator_(communicator), arenas_(arenas), reducer_(reducer), place_(std::move(place)) {
  if (!tune || communicator_.size() == 1) return;
  for (const std::int64_t mib : sizes_mib) {
    Candidate candidate{mib, arenas_.plan(static_cast<double>(mib) * 1024 * 1024)};
    const bool known = std::ranges::any_of(
        candidates_, [&](const Candidate& each) { return each.buckets == candidate.buckets; });
    if (!known) candidates_.push_back(std::move(candidate));
  }
  if (candidates_.size() < 2) return;

  // The file may exist only on rank 0's node.
  std::int64_t found = -1;
  if (communicator_.rank() == 0) found = remembered().value_or(-1);
  communicator_.wait(communicator_.broadcast(&found, 1, DType::i64, /*root=*/0));
  if (found >= 0) {
    take(static_cast<int>(found));
    return;
  }
  take(0);
  tuner_.emplace(static_cast<int>(candidates_.size()), limits);
}

/// Returns a key of everything that affects the fastest size.
std::string BucketChoice::key() const {
  return fmt::format("{}/{}-ranks/{}-nodes/{}/{}/{}/{}-cpus", hash_of(place_.table),
                     communicator_.size(), place_.nodes, communicator_.name(), place_.wire,
                     cpu_model(), std::thread::hardware_concurrency());
}

std::optional<int> BucketChoice::remembered() const {
  if (place_.file.empty()) return std::nullopt;
  const auto kept = recall(place_.file, key());
  if (!kept || kept->size() != 1) return std::nullopt;
  const auto found = std::ranges::find(candidates_, (*kept)[0], &Candidate::mib);
  if (found == candidates_.end()) return std::nullopt;
  if (place_.say) {
    place_.say(fmt::format("buckets of {} MiB, as measured before ({})", found->mib,
                           place_.file.string()));
  }
  return static_cast<int>(found - candidates_.begin());
}

void BucketChoice::take(int candidate) {
  taken_ = candidate;
  const auto& buckets = candidates_[static_cast<std::size_t>(candidate)].buckets;
  reducer_.set_buckets(buckets);
  arenas_.deal(buckets);
}

void BucketChoice::start() {
  if (!tuner_) return;
  started_ = Clock::now();
  if (began_ == Clock::time_point()) began_ = started_;
}

void BucketChoice::stop() {
  if (tuner_) measured_s_ = seconds(Clock::now() - started_);
}

void BucketChoice::next() {
  if (!tuner_) return;
  std::array<double, 2> slowest = {measured_s_, seconds(Clock::now() - began_)};
  communicator_.wait(
      communicator_.all_reduce(slowest.data(), slowest.size(), DType::f64, ReduceOp::max));
  tuner_->record(slowest[0], slowest[1]);
  if (tuner_->trial() != taken_) take(tuner_->trial());
  if (!tuner_->done()) return;
  if (communicator_.rank() == 0 && tuner_->measured()) tell_and_remember();
  tuner_.reset();
}

void BucketChoice::tell_and_remember() const {
  const auto mib = [&](int candidate) {
    return candidates_[static_cast<std::size_t>(candidate)].mib;
  };
  const int choice = tuner_->choice();
  std::string line = fmt::format("buckets of {} MiB: backward and sum {:.1f} ms", mib(choice),
                                 tuner_->seconds_of(choice) * 1e3);
  if (choice == 0) {
    line += ", no other size is faster";
  } else {
    line += fmt::format(" against {:.1f} at {} MiB", tuner_->seconds_of(0) * 1e3, mib(0));
  }
  if (!place_.file.empty()) {
    const std::array<std::int64_t, 1> answer = {mib(choice)};
    const auto kept = keep(place_.file, key(), answer);
    if (!kept) line += fmt::format("; not remembered: {}", kept.error().what);
  }
  if (place_.say) place_.say(line);
}

}  // namespace dllaunch
