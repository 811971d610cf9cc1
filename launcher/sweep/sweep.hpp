// A sweep: its trials, which of them is best, and what to do next. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

/// paused: it has a checkpoint and may be continued. stopped: others were better.
enum class TrialState { running, paused, completed, stopped, failed };
inline constexpr std::string_view trial_state_names[] = {"running", "paused", "completed",
                                                         "stopped", "failed"};
std::string_view to_string(TrialState state);

struct Trial {
  int number = 0;  // from 0
  Json parameters = Json::object();
  TrialState state = TrialState::running;
  std::int64_t target = 0;                     // epochs after which it is judged; 0: all of the job
  std::map<std::int64_t, double> values = {};  // the metric, by epoch
  std::string run = {};                        // its directory, below the sweep's
  std::string reason = {};                     // why it failed, or was started again
  int attempts = 0;                            // starts since it last got on
  double gpu_seconds = 0;                      // of all executions that have ended
  // Before this execution: how many bytes each log had, and the summary that had been judged.
  std::map<std::string, std::uint64_t> log_from = {};
  std::string judged = {};

  std::int64_t epochs() const { return values.empty() ? 0 : values.rbegin()->first; }
  std::optional<double> value() const {
    return values.empty() ? std::nullopt : std::optional(values.rbegin()->second);
  }
};

struct Sweep {
  std::string name = {};
  std::string metric = {};
  bool minimize = false;
  int most_trials = 0;
  /// Epochs after which trials are judged, rising; the last: a whole trial. Empty: without ASHA.
  std::vector<std::int64_t> rungs = {};
  int reduction = 2;               // one of so many is promoted
  std::string job = {};            // a digest of the job file
  std::vector<Trial> trials = {};  // trials[i].number == i
};

/// max, max / reduction, max / reduction^2 ... down to at least min; rounded, rising. max >= min.
std::vector<std::int64_t> rungs_of(std::int64_t min, std::int64_t max, int reduction);

/// Start trial `number`, or continue it, until `target` epochs.
struct NextStep {
  int number = 0;
  std::int64_t target = 0;
};

/// ASHA (Li et al. 2020): promotes a trial that is among the best 1 / reduction of those that
/// reached its rung, from the highest rung down; else starts a new one. Once none is left to start
/// and none runs, the best of a rung is promoted even if 1 / reduction of it is less than one
/// trial. Failed trials are the worst of their rung. nullopt: nothing until a trial ends, or at
/// all.
std::optional<NextStep> next_step(const Sweep& sweep);

/// After an execution that was killed, preempted or out of time: the trial runs again, unless it
/// has been started ten times without an epoch more than before, or twice in a row took too long:
/// what hangs once hangs again, and each time costs the whole limit. `got_on`: it has more epochs.
void ended_from_outside(Trial& trial, const std::string& why, bool got_on);
inline constexpr const char* took_too_long = "it took longer than resources.time";

/// The GPU time of all executions, which the run's books tell: the summary's gpu_hours. Where they
/// do not, adds an execution that took `took_s`, without its time in the queue if the summary has
/// that.
void take_gpu_time(Trial& trial, const Json& summary, double gpus, std::optional<double> took_s);

struct Budget {
  std::optional<double> gpu_hours = {};
  std::optional<double> until_s = {};  // Unix seconds
};

/// Why no further trial starts; empty: one may. What runs has used nothing before it has ended.
std::string why_over(const Sweep& sweep, const Budget& budget, double now_s);

/// Whether trials run, or are left to start.
bool is_unfinished(const Sweep& sweep);

/// The trial with the best value; nullptr: none has one. Of equals, the first.
const Trial* best_of(const Sweep& sweep);

/// Trials with a value by value, the best first; then the others by number.
std::vector<const Trial*> ranked(const Sweep& sweep);

/// sweep.json. read_sweep() takes name, metric and trials from it, for tables, and skips what it
/// cannot read.
Json to_json(const Sweep& sweep);
Sweep read_sweep(const Json& document);

/// A line of counts, the best first, and at most `most_rows` trials.
std::string render_sweep(const Sweep& sweep, std::size_t most_rows = 20);

/// "lr=0.01 batch=64": the last part of each key.
std::string shown_parameters(const Json& parameters);

}  // namespace dllaunch
