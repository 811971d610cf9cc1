#include "launcher/daemon/run_watch.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "launcher/daemon/poll_interval.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/slurm/array_tasks.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr int most_ends_per_round = 8;

/// Takes the results of a run that had ended before it was first seen.
void take_summary(const Json& summary, RunRecord& record) {
  if (!summary.is_object()) return;
  constexpr std::int64_t most_epochs = 1'000'000'000;
  record.seconds = 0;
  FieldReader field(summary, nullptr);
  field("seconds", record.seconds);
  field("epochs", within(record.epoch, 0, most_epochs));
  field("val_accuracy", record.val_accuracy);
}

}  // namespace

RunWatch::RunWatch(System& system, Store& store, const DaemonPaths& paths, DaemonSettings settings,
                   FolderProbe::Look look)
    : system_(system),
      store_(store),
      settings_(std::move(settings)),
      submitter_(system, store, paths, settings_.settle_s),
      folders_(std::move(look)) {}

std::shared_ptr<const Snapshot> RunWatch::snapshot() const {
  const std::lock_guard guard(mutex_);
  return snapshot_;
}

RunWatch::Stamp RunWatch::stamp_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {.changed_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
          .bytes = info.st_size + 1};
}

void RunWatch::look(double now_s) {
  ++rounds_;
  ends_left_ = most_ends_per_round;
  submitted_now_ = 0;
  sbatch_hangs_ = false;
  take_wishes();
  find_runs(now_s);
  ask_queue();
  for (const auto id :
       submitter_.recover(now_s, [this](const auto& dir) { return answers(dir); })) {
    auto run = store_.find_id(id);
    live_.erase(id);
    if (!run || !*run || (*run)->over) continue;
    take_live(**run);
    ++submissions_;
    ++submitted_now_;
  }
  for (auto& [id, run] : live_) {
    if (answers(run.record.dir))
      look_at(run, now_s);
    else
      leave_away(run);
  }
  std::erase_if(live_, [](const auto& entry) {
    return entry.second.record.over && entry.second.record.wish.empty();
  });
  const bool all_known = (queue_.answered || !slurm_.asked) && ends_left_ >= 0;
  // Slurm may be away for long.
  constexpr std::uint64_t most_rounds = 20;
  if (catching_up_ && (all_known || rounds_ > most_rounds)) tell_of_absence();
  if (!catching_up_) tell();
  const bool asks = std::any_of(live_.begin(), live_.end(),
                                [](const auto& entry) { return entry.second.asks(); });
  next_s_ = now_s + poll_interval_s({.interval_s = settings_.interval_s,
                                     .any_live = asks,
                                     .errors = slurm_.errors_in_row,
                                     .answer_s = slurm_.answer_s});
  publish(now_s);
}

void RunWatch::find_runs(double now_s) {
  const auto folder = run_index_folder(system_);
  if (!folder) return;
  const auto changed = stamp_of(*folder);
  // With a granularity of one second, a change within the same second is not seen.
  const bool settled = static_cast<double>(changed.changed_ns) / 1e9 < now_s - 3;
  const auto unsettled = std::exchange(again_, {});
  if (changed == index_folder_ && settled) {
    for (const auto& path : unsettled) look_at_entry(path, now_s);
    return;
  }
  index_folder_ = changed;
  std::map<std::string, Stamp> seen;
  std::error_code error;
  for (fs::directory_iterator at(*folder, error), end;
       !error && at != end && seen.size() < 2 * most_remembered_runs; at.increment(error)) {
    const auto path = at->path().string();
    if (at->path().filename().string().starts_with('.')) continue;
    const auto stamp = stamp_of(path);
    seen.emplace(path, stamp);
    const auto known = index_.find(path);
    if (known != index_.end() && known->second == stamp && !unsettled.contains(path)) continue;
    look_at_entry(path, now_s);
  }
  index_ = std::move(seen);
}

/// `run` writes the entry before it submits: while it holds the lock, the job id may be the
/// previous job's.
void RunWatch::look_at_entry(const std::string& path, double now_s) {
  const auto text = system_.read_file(path);
  if (!text) return;
  const auto dir = text->substr(0, text->find('\n'));
  if (!answers(dir)) {
    again_.insert(path);
    return;
  }
  // Check the owner before reading files: a later start rewrites the index entry.
  const bool held = owner_of({.path = dir}).has_value();
  take_up(dir, now_s);
  if (held) again_.insert(path);
}

/// Starts watching a run of the index that is new or was started again by its user.
void RunWatch::take_up(const std::string& dir, double now_s) {
  auto known = store_.find(dir);
  if (!known) return;
  RunRecord record = *known ? **known : RunRecord{};
  if (record.id != 0 && record.launcher == "slurm") {
    const auto job_id = system_.read_file(RunDir{.path = dir}.job_id());
    if (job_id && job_id_in(*job_id) == record.job_id) return;
  }
  auto files = read_stored_run(system_, dir);
  if (!files) return;
  const bool same = record.job_id == files->job_id && files->began_at_s <= record.began_s;
  if (record.id != 0 && same) return;
  record.dir = dir;
  record.name = fs::path(dir).filename().string();
  record.job = files->plan.name;
  record.launcher = files->plan.launcher == Launcher::slurm ? "slurm" : "local";
  record.job_id = files->job_id;
  record.began_s = files->began_at_s > 0 ? files->began_at_s : now_s;
  // Runs that ended before the store was created are left alone; one seen in the queue has not
  // ended.
  const bool old = record.id == 0 && record.began_s < store_.made_s();
  record.judged = old ? record.job_id : "";
  record.state = stored_status(*files);
  record.over = old && !record.state.empty();
  if (record.over) take_summary(files->summary, record);
  record.cancelled = false;
  record.without_progress = 0;
  record.decision.clear();
  record.reason.clear();
  const auto id = store_.save(record);
  if (!id) {
    system_.log("dllaunch: " + id.error().what + "\n");
    return;
  }
  record.id = *id;
  live_.erase(record.id);
  if (!record.over) take_live(record);
}

void RunWatch::take_live(const RunRecord& record) {
  LiveRun run{.record = record, .stored = record, .files = {}};
  run.files.dir.path = record.dir;
  run.files.plan.launcher = record.launcher == "slurm" ? Launcher::slurm : Launcher::local;
  run.files.job_id = record.job_id;
  live_.emplace(record.id, std::move(run));
}

/// The store holds runs that were live when a daemon died, and requests made by users meanwhile.
void RunWatch::take_wishes() {
  const auto records = store_.live_runs();
  if (!records) {
    system_.log("dllaunch: " + records.error().what + "\n");
    return;
  }
  for (const auto& record : *records) {
    const auto known = live_.find(record.id);
    if (known == live_.end()) {
      take_live(record);
    } else if (record.wished_s > known->second.record.wished_s) {
      known->second.record.wish = record.wish;
      known->second.record.wished_s = record.wished_s;
    }
  }
}

void RunWatch::ask_queue() {
  const bool asks = std::any_of(live_.begin(), live_.end(),
                                [](const auto& entry) { return entry.second.asks(); });
  queue_ = {};
  slurm_.asked = asks;
  if (!asks) return;
  const auto begin = std::chrono::steady_clock::now();
  auto jobs = queued_jobs(system_);
  slurm_.answer_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++slurm_.questions;
  if (jobs) {
    if (!slurm_.answers) system_.log("Slurm answers again\n");
    slurm_.answers = true;
    slurm_.errors_in_row = 0;
    queue_ = {.answered = true, .jobs = *std::move(jobs)};
    return;
  }
  ++slurm_.errors;
  ++slurm_.errors_in_row;
  slurm_.last_error = jobs.error().what;
  if (std::exchange(slurm_.answers, false))
    system_.log(fmt::format("Slurm does not answer: {}\n", jobs.error().what));
}

/// Adds jobs submitted in this round, which the queue does not show yet.
int RunWatch::jobs_in_queue() const {
  int jobs = submitted_now_;
  for (const auto& job : queue_.jobs) jobs += is_final_state(job.state) ? 0 : jobs_with_id(job.id);
  return jobs;
}

void RunWatch::keep(LiveRun& run) {
  auto saved = run.record;
  // Progress alone is not written: it is in the events.
  saved.epoch = run.stored.epoch;
  saved.step = run.stored.step;
  saved.loss = run.stored.loss;
  saved.val_accuracy = run.stored.val_accuracy;
  saved.images_per_s = run.stored.images_per_s;
  if (!run.record.over) saved.seconds = run.stored.seconds;
  if (!run.record.over && saved == run.stored) return;
  if (const auto done = store_.save(run.record); !done) {
    system_.log("dllaunch: " + done.error().what + "\n");
    return;
  }
  run.stored = run.record;
}

/// One message about all runs, which counts them; a single run speaks for itself.
void RunWatch::tell_of_absence() {
  constexpr std::int64_t most = 100'000;
  catching_up_ = false;
  const auto notices = store_.notices(most);
  if (!notices) return system_.log("dllaunch: " + notices.error().what + "\n");
  std::map<std::string, std::string> last;  // of each run
  for (const auto& notice : *notices) {
    const auto run = store_.find(notice.run);
    last[notice.run] = notice.event == "submitted" ? "submitted again"
                       : run && *run               ? (*run)->state
                                                   : notice.event;
  }
  if (last.size() < 2) return;
  std::map<std::string, int> counts;
  for (const auto& [run, what] : last) ++counts[what];
  std::string list;
  for (const auto& [what, count] : counts)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, what);
  tell({.event = "several",
        .run = notices->back().run,
        .message = fmt::format("{} while no daemon ran: {}; dllaunch ps lists them",
                               counted(std::ssize(last), "run"), list)});
  for (const auto& notice : *notices)
    if (auto done = store_.notice_done(notice.id); !done)
      return system_.log("dllaunch: " + done.error().what + "\n");
}

/// Limited per round: the notify command may be slow.
void RunWatch::tell() {
  constexpr int most = 20;
  constexpr std::chrono::seconds long_enough(5);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < most && std::chrono::steady_clock::now() - begin < long_enough; ++i) {
    const auto notice = store_.next_notice();
    if (!notice || !*notice) return;
    tell(**notice);
    if (auto done = store_.notice_done((*notice)->id); !done) {
      system_.log("dllaunch: " + done.error().what + "\n");
      return;
    }
  }
}

void RunWatch::tell(const Notice& notice) {
  constexpr std::chrono::seconds limit(10);
  if (settings_.notify.empty()) return;
  const auto told = system_.run(
      {"sh", "-c", settings_.notify, "dllaunch-notify", notice.event, notice.run, notice.message},
      limit);
  if (!told) system_.log("dllaunch: notify: " + told.error().what + "\n");
  if (told && told->exit_code != 0)
    system_.log(fmt::format("dllaunch: notify ended with code {}\n", told->exit_code));
}

void RunWatch::publish(double now_s) {
  auto next = std::make_shared<Snapshot>();
  next->at_s = now_s;
  next->next_s = next_s_;
  next->slurm = slurm_;
  next->queue = queue_;
  next->rounds = rounds_;
  next->submissions = submissions_;
  next->live.reserve(live_.size());
  for (const auto& [id, run] : live_) next->live.push_back(run.record);
  const std::lock_guard guard(mutex_);
  snapshot_ = std::move(next);
}

}  // namespace dllaunch
