#include "launcher/sweep/run_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/drawing/ticks.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/child_run.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/sweep/optuna_journal.hpp"
#include "launcher/sweep/optuna_sampler.hpp"
#include "launcher/sweep/stored_sweep.hpp"
#include "launcher/sweep/sweep_page.hpp"
#include "launcher/sweep/trial_end.hpp"
#include "launcher/sweep/trial_sets.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"
#include "topology/render/placement_env.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A run that is told to stop saves within recovery.grace_seconds, which is 120 unless written.
constexpr auto longest_stop = 300s;

struct Running : Execution {
  int number = 0;
  std::size_t slot = 0;
  OwnedProcess process;
  ChildRun child = {};
  Clock::time_point began = Clock::now();
  int told = 0;                 // signals
  std::vector<Json> jobs = {};  // Driver::jobs_of()
};

/// A trial that is neither started nor judged for now.
struct SetAside {
  Clock::time_point until = {};
  std::string why = {};                // empty: the budget is used up
  std::optional<Execution> seen = {};  // that ended, and is not judged yet
};

std::string run_name(int number) {
  return fmt::format("trial-{:05}", number);
}

class Driver {
 public:
  Driver(System& system, const SweepRequest& request, PreparedSweep& prepared,
         OptunaJournal journal, const StopSignals& signals)
      : system_(system),
        request_(request),
        prepared_(prepared),
        sweep_(prepared.sweep),
        journal_(std::move(journal)),
        signals_(signals) {}

  /// `known`: sweep.json tells that the journal is of this job file.
  Result<Ok> work(bool known);

 private:
  Trial& trial(int number) { return sweep_.trials[static_cast<std::size_t>(number)]; }
  std::string dir_of(const Trial& trial) const { return request_.dir + "/" + trial.run; }

  void take_journal();
  Result<bool> take_up_next();
  Result<bool> take_up(Trial& trial);
  Result<bool> fail(Trial& trial);
  Result<bool> start_next();
  Result<Ok> start(Trial& trial, std::vector<Json> jobs);
  Result<Ok> create(const NextStep& step);
  Result<Ok> hear_sampler();
  Result<Ok> take_new_trial();
  Result<Ok> watch();
  Result<Ok> settle(Running& running);
  Result<bool> close(Trial& trial, const Execution& execution, const std::vector<Json>& jobs);
  Result<std::vector<std::string>> sets_of(const Trial& trial, std::int64_t target);
  Result<std::vector<Json>> jobs_of(const Trial& trial);
  Result<std::string> why_anothers(const Trial& trial, const std::vector<Json>& jobs);
  Result<Ok> check_trials();
  Result<StoredRun> run_of(const Trial& one) const {
    return unjudged_run(system_, dir_of(one), one);
  }
  /// A file system that is briefly full or away must not end a sweep of days. Who ends it waits for
  /// nothing.
  template <typename Try>
  auto persist(Try once) -> decltype(once()) {
    if (signals_.count() > 0) return once();
    return despite_storage(
        once, [this](const std::string& words) { system_.log(words + "\n"); },
        [this](std::chrono::milliseconds pause) {
          signals_.wait(pause);
          return signals_.count() > 0;
        });
  }
  void count_gpu_time(Trial& trial, std::optional<double> took_s = {});
  Result<Ok> record(const Trial& trial);
  Result<Ok> stop_the_paused();
  bool within_budget();
  Result<Ok> finish_records();
  Result<Ok> carry_out();
  void drain();
  void set_aside(const Trial& trial, const std::string& why, Clock::duration pause,
                 const std::optional<Execution>& seen = {});
  std::size_t free_slot() const;
  Result<Ok> write(bool now);

  System& system_;
  const SweepRequest& request_;
  PreparedSweep& prepared_;
  Sweep& sweep_;
  OptunaJournal journal_;
  const StopSignals& signals_;
  std::list<Running> running_;
  std::optional<OptunaAsk> asking_;
  bool changed_ = true;
  bool budget_told_ = false;
  std::map<int, SetAside> aside_;  // by trial
  Clock::time_point written_ = {};
};

/// Files are written at most once a second: a sweep may have thousands of trials. What cannot be
/// written now is written later.
Result<Ok> Driver::write(bool now) {
  if (!changed_ || (!now && Clock::now() - written_ < 1s)) return Ok{};
  written_ = Clock::now();
  const NamedTexts files = {
      {request_.dir + "/sweep.json", json_text(to_json(sweep_))},
      {request_.dir + "/sweep.html", html_page(sweep_page(sweep_, prepared_.space, request_.dir))}};
  const auto done = now ? persist([&] { return write_files(files); }) : write_files(files);
  changed_ = !done;
  return now ? done : Ok{};
}

/// Adds trials that the journal has beyond those known.
void Driver::take_journal() {
  const auto& trials = journal_.replay().trials();
  for (std::size_t i = sweep_.trials.size(); i < trials.size(); ++i) {
    Trial one = trials[i];
    // Optuna's own trials have no directory, and know no target.
    if (one.run.empty()) {
      one.run = run_name(one.number);
      if (!sweep_.rungs.empty()) one.target = sweep_.rungs.front();
    }
    sweep_.trials.push_back(std::move(one));
  }
  changed_ = true;
}

std::size_t Driver::free_slot() const {
  for (std::size_t slot = 0; slot < prepared_.slots.size(); ++slot) {
    const bool taken =
        std::ranges::any_of(running_, [slot](const Running& one) { return one.slot == slot; });
    if (!taken) return slot;
  }
  return prepared_.slots.size();
}

bool Driver::within_budget() {
  const auto why = why_over(sweep_, prepared_.budget, unix_seconds());
  if (!why.empty() && !std::exchange(budget_told_, true))
    system_.log(fmt::format("{}: no further trial starts\n", why));
  return why.empty();
}

/// What the journal does not have: values, then the state, and the end if it has one.
Result<Ok> Driver::record(const Trial& one) {
  std::vector<Json> records;
  const int id = journal_.replay().id_of(one.number);
  const auto& known = journal_.replay().trials()[static_cast<std::size_t>(one.number)].values;
  for (const auto& [epoch, value] : one.values) {
    const auto before = known.find(epoch);
    if (before == known.end() || before->second != value)
      records.push_back(value_record(id, epoch, value));
  }
  records.push_back(own_record(id, one));
  if (one.state != TrialState::running && one.state != TrialState::paused)
    records.push_back(end_record(id, one, unix_seconds()));
  changed_ = true;
  return persist([&] { return journal_.append(records); });
}

/// A power loss may have left the last record of a trial that has ended unwritten.
Result<Ok> Driver::finish_records() {
  for (const Trial& one : sweep_.trials) {
    if (one.state == TrialState::running || one.state == TrialState::paused ||
        journal_.replay().ended(one.number))
      continue;
    if (auto written = record(one); !written) return written;
  }
  return Ok{};
}

/// The trial's options at some target.
Result<std::vector<std::string>> Driver::sets_of(const Trial& one, std::int64_t target) {
  auto sets = sets_of_trial(prepared_.job, one.parameters, target, prepared_.all_epochs);
  if (!sets) return sets;
  sets->insert(sets->begin(), request_.sets.begin(), request_.sets.end());
  sets->push_back("name=" + Json(fmt::format("{}-{}", sweep_.name, one.number)).dump());
  return sets;
}

/// The trial's resolved job at its target, and at the rungs before: a dllaunch that was killed when
/// it began leaves such a one.
Result<std::vector<Json>> Driver::jobs_of(const Trial& one) {
  if (auto same =
          check_unchanged(system_, request_.job_file, request_.sets, sweep_.job, budget_keys);
      !same)
    return std::move(same).error();
  std::vector<Json> jobs;
  const auto add = [&](std::int64_t target) -> Result<Ok> {
    const auto sets = sets_of(one, target);
    if (!sets) return sets.error();
    auto job = load_job(system_, request_.job_file, *sets);
    if (!job) return std::move(job).error();
    jobs.push_back(std::move(job->resolved));
    return Ok{};
  };
  auto added = add(one.target);
  for (const auto rung : sweep_.rungs)
    if (added && rung < one.target) added = add(rung);
  if (!added) return std::move(added).error();
  return jobs;
}

/// Empty: the trial's directory has its own job, or none.
Result<std::string> Driver::why_anothers(const Trial& one, const std::vector<Json>& jobs) {
  const auto keys = keys_of_other_job(system_, dir_of(one), jobs, budget_keys);
  if (!keys && tells_of_storage(keys.error().what)) return keys.error();
  if (!keys) return keys.error().what;
  if (keys->empty()) return std::string();
  return fmt::format("{} has another job's run: other {}", one.run, fmt::join(*keys, ", "));
}

/// Whether the journal's trials are this job file's, where sweep.json does not tell.
Result<Ok> Driver::check_trials() {
  for (const Trial& one : journal_.replay().trials()) {
    if (one.values.empty() || one.run.empty()) continue;
    const auto jobs = jobs_of(one);
    if (!jobs) return jobs.error();
    const auto other = why_anothers(one, *jobs);
    if (!other) return other.error();
    std::error_code ignored;
    const bool tells = std::filesystem::exists(dir_of(one) + "/job.yaml", ignored);
    if (tells && other->empty()) continue;
    return Error{ErrorKind::bad_request,
                 fmt::format("{}/sweep.json is lost, and {}", request_.dir,
                             tells ? *other : one.run + " has no run"),
                 "choose another --run-dir"};
  }
  return Ok{};
}

Result<bool> Driver::fail(Trial& one) {
  one.state = TrialState::failed;
  if (auto written = record(one); !written) return std::move(written).error();
  return true;
}

/// Continues a trial that is to run: new, or of an earlier driver, which may not have seen how its
/// run ended. Whether anything changed.
Result<bool> Driver::take_up(Trial& one) {
  for (const Parameter& parameter : prepared_.space) {
    if (one.parameters.contains(parameter.name)) continue;
    one.reason = fmt::format("it has no {}: its sampler was interrupted", parameter.name);
    return fail(one);
  }
  auto jobs = jobs_of(one);
  if (!jobs) return std::move(jobs).error();
  auto other = why_anothers(one, *jobs);
  if (!other) return set_aside(one, other.error().what, 30s), false;
  if (!other->empty()) {
    one.reason = *std::move(other);
    return fail(one);
  }
  if (const auto holder = owner_of({.path = dir_of(one)})) {
    const auto who =
        fmt::format("process {} on {} works in {}", holder->pid, holder->host, one.run);
    return set_aside(one, who, 500ms), false;
  }
  // Cheaper than the question after it, and what that is answered could not be written anyway.
  if (auto trouble = storage_trouble(dir_of(one)); !trouble.empty())
    return set_aside(one, trouble, 5s), false;
  const auto fate = fate_of_run(system_, dir_of(one));
  if (fate == RunFate::unknown)
    return set_aside(one, "it cannot be told whether its job is still there", 30s), false;
  const auto run = run_of(one);
  if (!run) return set_aside(one, run.error().what, 30s), false;
  if (fate == RunFate::over && !stored_status(*run).empty())
    return close(one, aside_[one.number].seen.value_or(Execution{.epochs_before = one.epochs()}),
                 *jobs);
  if (fate != RunFate::there) {
    if (!within_budget()) return set_aside(one, "", 30s), false;
    one.log_from = sizes_of_logs({.path = dir_of(one)});
    if (auto written = record(one); !written) return std::move(written).error();
  }
  auto started = start(one, *std::move(jobs));
  if (started) return true;
  if (!tells_of_storage(started.error().what)) return std::move(started).error();
  return set_aside(one, started.error().what, 5s), false;
}

Result<Ok> Driver::start(Trial& one, std::vector<Json> jobs) {
  auto sets = sets_of(one, one.target);
  if (!sets) return std::move(sets).error();
  const std::size_t slot = free_slot();
  const Slot& part = prepared_.slots[slot];
  const bool whole_nodes = request_.allocated && part.cpus.empty();
  const ChildRun child{.job_file = request_.job_file,
                       .sets = *std::move(sets),
                       .dir = dir_of(one),
                       .local = request_.local || (request_.allocated && !whole_nodes),
                       .allocated = whole_nodes,
                       .nodelist = part.nodes,
                       .cpus = part.cpus,
                       .environment = device_variables(prepared_.node, {.gpus = part.gpus})};
  auto process = start_child_run(child);
  if (!process) return std::move(process).error();
  running_.push_back(
      {{.epochs_before = one.epochs()}, one.number, slot, *std::move(process), child});
  running_.back().jobs = std::move(jobs);
  return Ok{};
}

/// A new trial is in the journal before it starts: a kill in between leaves a trial to start.
Result<Ok> Driver::create(const NextStep& step) {
  const JobSweep& wanted = prepared_.job.sweep;
  if (wanted.optuna) {
    auto asked = OptunaAsk::start(system_, request_.dir + "/optuna.journal", sweep_.name,
                                  prepared_.space, wanted, step.number);
    if (!asked) return std::move(asked).error();
    asking_.emplace(*std::move(asked));
    return Ok{};
  }
  Trial one{.number = step.number, .target = step.target};
  one.parameters = wanted.sampler == "grid"
                       ? grid_values(prepared_.space, step.number)
                       : random_values(prepared_.space, step.number, wanted.seed);
  one.run = run_name(step.number);
  const Json made =
      trial_record(prepared_.space, one, journal_.replay().study_id(), unix_seconds());
  if (auto written = persist([&] { return journal_.append({&made, 1}); }); !written) return written;
  return take_new_trial();
}

/// Takes the trial of a sampler that has answered. A second signal does not wait for the answer.
Result<Ok> Driver::hear_sampler() {
  const auto answer = asking_ ? asking_->poll() : std::nullopt;
  if (asking_ && signals_.count() > 1) asking_.reset();
  if (!answer) return Ok{};
  asking_.reset();
  if (!*answer) return *answer;
  if (auto taken = journal_.read(); !taken) return taken;
  return take_new_trial();
}

Result<Ok> Driver::take_new_trial() {
  if (journal_.replay().trials().size() <= sweep_.trials.size())
    return Error{ErrorKind::unavailable, "optuna.journal did not take a trial", ""};
  take_journal();
  return Ok{};
}

/// Says why, once. `seen`: how it ended; nullopt: as it is known.
void Driver::set_aside(const Trial& one, const std::string& why, Clock::duration pause,
                       const std::optional<Execution>& seen) {
  auto& aside = aside_[one.number];
  aside.until = Clock::now() + pause;
  if (seen) aside.seen = seen;
  if (std::exchange(aside.why, why) != why && !why.empty())
    system_.log(fmt::format("trial {}: {}: waiting\n", one.number, why));
}

/// Takes up a trial that is to run and does not. Whether there was any.
Result<bool> Driver::take_up_next() {
  for (Trial& one : sweep_.trials) {
    const bool runs = std::ranges::any_of(
        running_, [&one](const Running& other) { return other.number == one.number; });
    const auto aside = aside_.find(one.number);
    const bool later = aside != aside_.end() && Clock::now() < aside->second.until;
    if (one.state != TrialState::running || runs || later) continue;
    auto taken = take_up(one);
    if (!taken) return taken;
    if (!*taken) continue;
    aside_.erase(one.number);
    return true;
  }
  return false;
}

/// Starts what is to run, else what comes next. Whether there was any.
Result<bool> Driver::start_next() {
  if (free_slot() == prepared_.slots.size()) return false;
  if (auto taken = take_up_next(); !taken || *taken) return taken;
  // A trial that is set aside keeps its place: what comes next depends on its end.
  if (running_.size() + aside_.size() >= prepared_.slots.size() || !within_budget()) return false;
  const auto step = next_step(sweep_);
  if (!step) return false;
  if (static_cast<std::size_t>(step->number) == sweep_.trials.size()) {
    if (asking_) return false;
    if (auto made = create(*step); !made) return std::move(made).error();
    return true;
  }
  Trial& one = trial(step->number);
  const auto run = persist([&] { return run_of(one); });
  if (!run) return run.error();
  one.judged = value_at<std::string>(run->summary, "submission", one.judged);
  one.state = TrialState::running;
  one.target = step->target;
  one.attempts = 0;
  if (auto written = record(one); !written) return std::move(written).error();
  return true;
}

/// A dllaunch that ended without a summary has not seen the run's end: its job may go on.
Result<Ok> Driver::settle(Running& running) {
  Trial& one = trial(running.number);
  const std::chrono::duration<double> took = Clock::now() - running.began;
  const bool own_job = !running.child.local && !running.child.allocated;
  running.stopping = signals_.count() > 0;
  const auto run = run_of(one);
  if (own_job && run && stored_status(*run).empty()) {
    // The next driver asks.
    if (running.stopping) return Ok{};
    const auto fate = fate_of_run(system_, dir_of(one));
    if (fate == RunFate::there || fate == RunFate::unknown)
      return set_aside(one, "its dllaunch ended before its job", 5s, running), Ok{};
  }
  // Slurm's account tells of a job that is not known yet.
  if (run || !own_job) count_gpu_time(one, took.count());
  if (auto done = close(one, running, running.jobs); !done) return std::move(done).error();
  return Ok{};
}

/// Whether it could be judged; else it is set aside.
Result<bool> Driver::close(Trial& one, const Execution& execution, const std::vector<Json>& jobs) {
  auto other = why_anothers(one, jobs);
  if (!other) return set_aside(one, other.error().what, 30s, execution), false;
  const auto run = run_of(one);
  if (!run) return set_aside(one, run.error().what, 30s, execution), false;
  count_gpu_time(one);
  if (other->empty()) {
    Trial judged = one;
    if (const auto good = judge(sweep_, prepared_.job, *run, execution, judged); !good)
      return set_aside(one, good.error().what, 5s, execution), false;
    const bool got_there = judged.state != TrialState::failed && judged.reason.empty();
    // What it says, or did not leave, may be due to that: it is judged, or starts again, later.
    auto trouble = got_there ? "" : storage_trouble(dir_of(one));
    if (!trouble.empty()) return set_aside(one, trouble, 5s, execution), false;
    one = std::move(judged);
  } else {
    one.state = TrialState::failed;
    one.reason = *std::move(other);
  }
  if (auto written = record(one); !written) return std::move(written).error();
  const auto value = one.value();
  const auto epochs =
      one.target == 0 ? "" : fmt::format(" after {}", counted(one.epochs(), "epoch"));
  system_.log(fmt::format("trial {}: {}{}{}, {}{}\n", one.number, to_string(one.state),
                          value ? " " + short_number(*value, 5) : "", epochs,
                          shown_parameters(one.parameters),
                          one.reason.empty() ? "" : " (" + shown_line(one.reason) + ")"));
  return true;
}

/// Also what it used under drivers that were killed. `took_s`: an execution that this one saw.
void Driver::count_gpu_time(Trial& one, std::optional<double> took_s) {
  const auto stored = read_stored_run(system_, dir_of(one));
  take_gpu_time(one, stored ? stored->summary : Json(), prepared_.gpus, took_s);
}

/// Waits a moment; settles what has ended, passes signals on, and ends what takes too long.
Result<Ok> Driver::watch() {
  signals_.wait(asking_ ? 50ms : 500ms);
  if (auto heard = hear_sampler(); !heard) return heard;
  for (auto one = running_.begin(); one != running_.end();) {
    for (; one->told < signals_.count(); ++one->told)
      stop_child_run(system_, one->child, one->process,
                     signals_.first() == SIGHUP ? SIGHUP : SIGTERM);
    const std::chrono::duration<double> took = Clock::now() - one->began;
    if (prepared_.longest_s && took.count() > *prepared_.longest_s && !one->overdue) {
      one->overdue = true;
      stop_child_run(system_, one->child, one->process, SIGTERM);
    }
    one->code = one->process.poll();
    if (!one->code) {
      ++one;
      continue;
    }
    if (auto done = settle(*one); !done) return done;
    one = running_.erase(one);
  }
  return write(false);
}

Result<Ok> Driver::stop_the_paused() {
  for (Trial& one : sweep_.trials) {
    if (one.state != TrialState::paused) continue;
    one.state = TrialState::stopped;
    if (auto written = record(one); !written) return written;
  }
  return Ok{};
}

Result<Ok> Driver::carry_out() {
  if (auto done = finish_records(); !done) return done;
  // sweep.json tells another job file's sweep from this one: before anything starts.
  if (auto done = write(true); !done) return done;
  while (signals_.count() == 0) {
    auto started = start_next();
    if (!started) return std::move(started).error();
    if (*started) continue;
    const bool waits =
        std::ranges::any_of(aside_, [](const auto& other) { return !other.second.why.empty(); });
    if (running_.empty() && !asking_ && !waits) break;
    if (auto done = watch(); !done) return done;
  }
  while (!running_.empty() || asking_) {
    if (auto done = watch(); !done) return done;
  }
  // With a budget that is used up, paused trials may go on another day.
  if (signals_.count() == 0 && !budget_told_) {
    if (auto done = stop_the_paused(); !done) return done;
  }
  return write(true);
}

/// After an error: lets the trials on this machine save and stop, and leaves Slurm's jobs alone.
/// They stay running in the journal, so that the next driver continues them.
void Driver::drain() {
  for (const Running& one : running_) stop_child_run(system_, one.child, one.process, SIGHUP);
  const auto deadline = Clock::now() + longest_stop;
  while (!running_.empty() && Clock::now() < deadline) {
    signals_.wait(200ms);
    std::erase_if(running_, [](Running& one) { return one.process.poll().has_value(); });
  }
  changed_ = true;
  (void)write(true);
}

Result<Ok> Driver::work(bool known) {
  take_journal();
  if (!known)
    if (auto good = check_trials(); !good) return good;
  auto done = carry_out();
  if (!done) drain();
  return done;
}

}  // namespace

Result<int> run_sweep(System& system, const SweepRequest& request, PreparedSweep& prepared) {
  if (const int failed = make_private_folder(request.dir); failed != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("cannot make {}: {}", request.dir, std::strerror(failed)), ""};
  const auto lock = RunLock::take({.path = request.dir});
  if (!lock) return lock.error();
  const auto known = check_same_sweep(system, request.dir, prepared.sweep);
  if (!known) return known.error();
  auto journal =
      OptunaJournal::open(request.dir + "/optuna.journal", prepared.sweep.name,
                          prepared.sweep.minimize, [&](const auto& words) { system.log(words); });
  if (!journal) return std::move(journal).error();
  const StopSignals signals;
  Driver driver(system, request, prepared, *std::move(journal), signals);
  if (auto done = driver.work(*known); !done) return std::move(done).error();
  return signals.first();
}

}  // namespace dllaunch
