#include "launcher/supervise/liveness.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using std::chrono::duration;

/// The trainer's own watchdogs act at the limit and need some seconds. The supervisor handles what
/// they cannot see.
constexpr double most_margin_s = 30;
/// Loading and validation emit no events: the limit is longer there.
constexpr double long_phase = 10;
constexpr double unhurried_s = 60;
constexpr double most_silence_s = 60;

Liveness::Time::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Liveness::Time::duration>(duration<double>(seconds));
}

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

/// Returns a value that changes with the file's size and times; 0: no file.
std::uint64_t print_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return 0;
  std::uint64_t print = 14695981039346656037ULL;
  for (const auto part :
       {static_cast<std::uint64_t>(info.st_ino), static_cast<std::uint64_t>(info.st_size),
        static_cast<std::uint64_t>(info.st_mtim.tv_sec),
        static_cast<std::uint64_t>(info.st_mtim.tv_nsec)}) {
    print = (print ^ part) * 1099511628211ULL;
  }
  return print | 1;
}

}  // namespace

std::string heartbeat_file(const RunDir& run) {
  return run.path + "/.heartbeat";
}

Liveness::Liveness(RunDir run, bool trains, double limit_s, Time now, std::int64_t fencing_token)
    : run_(std::move(run)),
      trains_(trains),
      limit_s_(limit_s),
      fencing_token_(fencing_token),
      events_(run_.events(), size_of(run_.events())),
      moved_at_(now),
      progressed_at_(now),
      next_look_(now) {
  if (trains_ && limit_s_ > 0) gives_up_at_ = now + seconds_of(limit_s_);
  std::error_code ignored;
  fs::remove(heartbeat_file(run_), ignored);
}

void Liveness::look(Time now) {
  if (trains_) {
    for (auto events = events_.read(); !events.empty(); events = events_.read()) {
      for (const auto& event : events) {
        const auto whose = fencing_token_of(event);
        if (fencing_token_ != 0 && whose != 0 && whose != fencing_token_) continue;
        moved_at_ = now;
        if (!std::holds_alternative<StallEvent>(event)) {
          const double pause_s = duration<double>(now - std::exchange(progressed_at_, now)).count();
          // The start of the ranks takes longer than any step.
          if (step_ > 0) longest_pause_s_ = std::max(longest_pause_s_, pause_s);
        }
        take(event, now);
      }
    }
  }
  if (now < next_look_) return;
  // Without a stall limit, silence is only reported afterwards.
  const double pause_s = limit_s_ > 0 ? std::clamp(limit_s_ / 20, 0.5, 30.0) : unhurried_s;
  next_look_ = now + seconds_of(pause_s);
  look_at_files(now);
}

void Liveness::resume(Time now, Time::duration pause) {
  moved_at_ =
      std::min(now, moved_at_ + std::min<Time::duration>(pause, AwakeClock::others_resume_within));
}

void Liveness::look_at_files(Time now) {
  const auto print = fingerprint();
  if (std::exchange(fingerprint_, print) != print) moved_at_ = now;
}

void Liveness::take(const Event& event, Time now) {
  if (const auto* start = std::get_if<StartEvent>(&event)) {
    steps_per_epoch_ = std::max<std::int64_t>(0, start->steps_per_epoch.value_or(0));
    training_end_.clear();
    gives_up_at_.reset();
    stride_ = 0;
  } else if (const auto* step = std::get_if<StepEvent>(&event)) {
    stride_ = step->step > step_ ? step->step - step_ : 0;
    step_ = step->step;
  } else if (const auto* stall = std::get_if<StallEvent>(&event)) {
    // Who tells of a death has nothing more to say.
    if (stall->state == "died") return;
    stalled_ = stall->state != "over";
    gave_up_ = stall->state == "gave up";
    if (gave_up_) given_up_ = *stall;
    gives_up_at_.reset();
    if (stalled_ && stall->seconds && limit_s_ > 0)
      gives_up_at_ = now + seconds_of(std::max(0.0, limit_s_ - *stall->seconds));
  } else if (const auto* end = std::get_if<EndEvent>(&event)) {
    training_end_ = end->status;
  } else if (std::holds_alternative<EpochEvent>(event)) {
    stride_ = 0;
  }
}

std::uint64_t Liveness::fingerprint() const {
  const auto beat = print_of(heartbeat_file(run_));
  if (beat != 0 && !trains_) return beat;
  std::uint64_t all = print_of(run_.events()) + print_of(run_.checkpoints());
  std::error_code error;
  for (fs::directory_iterator at(run_.out(), error), end; !error && at != end;
       at.increment(error)) {
    // The job's own log also holds messages of Slurm and of dllaunch.
    const bool of_rank = at->path().filename().string().starts_with("rank-");
    if (of_rank || limit_s_ > 0) all += print_of(at->path().string());
  }
  return all;
}

/// Within an epoch the next step is near. Events are limited to ten a second, so the last steps of
/// an epoch may have none.
double Liveness::allowed_s() const {
  if (!trains_) return limit_s_;
  const double margin_s = std::min(limit_s_, most_margin_s);
  const auto left = steps_per_epoch_ > 0 ? steps_per_epoch_ - step_ % steps_per_epoch_ : 0;
  const bool steps =
      stride_ > 0 && step_ % std::max<std::int64_t>(1, steps_per_epoch_) != 0 && left > 3 * stride_;
  return steps ? limit_s_ + margin_s : long_phase * limit_s_ + margin_s;
}

double Liveness::silent_s(Time now) {
  look_at_files(now);
  return duration<double>(now - moved_at_).count();
}

bool Liveness::unusually_silent(Time now, double least_s) const {
  const double usual_s = std::clamp(2 * longest_pause_s_, least_s, most_silence_s);
  return trains_ && duration<double>(now - progressed_at_).count() > usual_s;
}

std::string Liveness::wedged(Time now) const {
  if (limit_s_ <= 0) return "";
  const double silent = duration<double>(now - moved_at_).count();
  if (silent <= allowed_s()) return "";
  return fmt::format("no progress for {:.0f} s", silent);
}

}  // namespace dllaunch
