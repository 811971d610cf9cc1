#include "launcher/daemon/submitter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <random>
#include <string_view>
#include <utility>

#include "launcher/daemon/policy.hpp"
#include "launcher/execute/slurm_job.hpp"
#include "launcher/option_edits.hpp"
#include "launcher/run_dir.hpp"
#include "launcher/slurm_wishes.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds query_limit(20);
constexpr double week_s = 7 * 86400.0;

/// The first field of the line in which the token stands.
std::optional<std::string> id_beside(std::string_view text, const std::string& token) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (line.find(token) != std::string_view::npos) {
      const auto id = line.substr(0, std::min(line.find('|'), line.find('_')));
      const bool number =
          !id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos;
      if (number) return std::string(id);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

std::string slurm_time(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> words{};
  std::strftime(words.data(), words.size(), "%Y-%m-%dT%H:%M:%S", &local);
  return words.data();
}

/// sbatch gave up waiting for the controller, which may take the job all the same.
bool leaves_it_open(const Error& error) {
  constexpr std::array<std::string_view, 4> signs = {"timed out", "named no job id",
                                                     "Unable to contact", "Zero Bytes"};
  return error.kind == ErrorKind::timeout ||
         std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
           return error.what.find(sign) != std::string::npos;
         });
}

std::string value_in(const std::vector<std::string>& options, std::string_view name) {
  std::string value;
  for (const auto& line : options) {
    const auto option = option_of_line(line);
    if (option && option->first == name) value = option->second;
  }
  return value;
}

}  // namespace

std::string new_token() {
  std::random_device source;
  const auto number = (std::uint64_t{source()} << 32U) | source();
  return fmt::format("dllaunch:{:016x}", number);
}

Result<std::optional<std::string>> find_token(World& world, const std::string& token,
                                              double intended_s) {
  auto queue =
      world.run({"squeue", "--me", "--noheader", "--states=all", "--format=%i|%k"}, query_limit);
  if (!queue) return std::move(queue).error();
  if (queue->exit_code != 0)
    return Error{ErrorKind::unavailable, "squeue: " + queue->err.substr(0, 1000), ""};
  if (auto id = id_beside(queue->out, token)) return id;
  // What ended longer ago than MinJobAge only accounting knows; where there is none, nobody does.
  const auto record =
      world.run({"sacct", "--allocations", "--noheader", "--parsable2",
                 "--starttime=" + slurm_time(intended_s - 60), "--format=JobID,SubmitLine"},
                query_limit);
  if (!record || record->exit_code != 0) return std::optional<std::string>();
  return id_beside(record->out, token);
}

std::vector<std::string> options_of_submission(const std::string& script_text,
                                               const Submission& submission,
                                               const std::vector<std::string>& failed) {
  const auto options = options_of_script(script_text);
  const auto comment = value_in(options, "--comment");
  std::vector<std::string> more = {"--comment=" + comment + (comment.empty() ? "" : " ") +
                                   submission.token};
  const auto exclude = exclude_list(value_in(options, "--exclude"), failed);
  if (!failed.empty()) more.push_back("--exclude=" + exclude);
  return more;
}

Result<Ok> Submitter::adopt(RunRecord& run, Submission& submission, const std::string& job_id,
                            double now_s) {
  const RunDir dir{.path = run.dir};
  const auto known = world_.read_file(dir.job_id());
  // A job that has started wrote its number itself, and what it saved since is newer.
  if (!known || job_id_in(*known) != job_id) {
    auto kept = write_file(dir.job_id(), job_id + "\n");
    if (!kept) world_.note("dllaunch: warning: " + kept.error().what + "\n");
  }
  submission.state = SubmissionState::submitted;
  submission.job_id = job_id;
  run.job_id = job_id;
  run.state = "pending";
  run.over = false;
  run.began_s = now_s;
  run.ended_s = 0;
  run.seconds = 0;
  run.reason.clear();
  run.decision = fmt::format("submitted again as job {}: {}", job_id, submission.reason);
  world_.note(fmt::format("{}: {}\n", run.name, run.decision));
  return store_.decide(
      {.run = run,
       .submissions = {submission},
       .notice =
           Notice{.time_s = now_s, .event = "submitted", .run = run.dir, .words = run.decision}});
}

Result<Ok> Submitter::send(RunRecord& run, Submission& submission, double now_s) {
  // While sbatch runs it holds this too: a daemon that comes after us sees whether it is gone.
  auto lock = DaemonLock::take(place_.submit_lock());
  if (!lock) return std::move(lock).error();
  const RunDir dir{.path = run.dir};
  const auto script = world_.read_file(dir.sbatch_script());
  if (!script) return script.error();
  auto failed = store_.failed_nodes(now_s - week_s, 2);
  if (!failed) return std::move(failed).error();
  const auto more = options_of_submission(*script, submission, *failed);
  submission.exclude = fmt::format("{}", fmt::join(*failed, ","));
  // Before sbatch: should we die in it, no old summary is taken for the new job's.
  const auto summary = world_.read_file(dir.summary());
  forget_summary(dir);
  lock->share_with_children(true);
  auto id = submit_job(world_, dir.sbatch_script(), more);
  lock->share_with_children(false);
  if (id) return adopt(run, submission, *id, now_s);
  submission.words = id.error().what;
  world_.note(fmt::format("{}: {}\n", run.name, submission.words));
  if (leaves_it_open(id.error())) return Ok{};
  if (auto put_back = summary ? write_file(dir.summary(), *summary) : Result<Ok>(Ok{}); !put_back)
    world_.note("dllaunch: warning: " + put_back.error().what + "\n");
  submission.state = SubmissionState::refused;
  run.state = "ended";
  run.decision = submission.words;
  return store_.decide({.run = run, .submissions = {submission}, .notice = {}});
}

Result<Submission> Submitter::submit(RunRecord& run, const std::string& reason, double now_s) {
  const RunDir dir{.path = run.dir};
  const auto lock = RunLock::take(dir);
  if (!lock) return lock.error();
  const auto text = world_.read_file(dir.job_id());
  if (text && job_id_in(*text).value_or("") != run.job_id)
    return Error{
        ErrorKind::bad_request,
        fmt::format("{} has another job by now, {}", run.name, job_id_in(*text).value_or("none")),
        ""};
  Submission submission{.token = new_token(), .run = run.id, .reason = reason, .intended_s = now_s};
  auto meant = run;
  meant.judged = run.job_id;
  meant.wish.clear();
  meant.state = state_submitting;
  ++meant.submissions;
  auto kept = store_.decide({.run = meant, .submissions = {submission}, .notice = {}});
  if (!kept) return std::move(kept).error();
  // From here on it is meant, and recover() sees to it, whatever fails.
  run = meant;
  auto sent = send(run, submission, now_s);
  if (!sent) return std::move(sent).error();
  return submission;
}

Result<bool> Submitter::recover_one(Submission submission, double now_s) {
  auto run = store_.find(std::to_string(submission.run));
  if (!run) return std::move(run).error();
  if (!*run) return false;
  auto job_id = find_token(world_, submission.token, submission.intended_s);
  if (!job_id) return std::move(job_id).error();
  // A site may change comments; the script writes its number when it starts.
  const auto written = world_.read_file(RunDir{.path = (*run)->dir}.job_id());
  const auto newest = written ? job_id_in(*written) : std::nullopt;
  if (!*job_id && newest && *newest != (*run)->judged) *job_id = newest;
  if (*job_id) {
    auto kept = adopt(**run, submission, **job_id, now_s);
    if (!kept) return std::move(kept).error();
    return true;
  }
  if (now_s - std::max(submission.intended_s, sbatch_gone_s_) < settle_s_) return false;
  // It was decided, and it has not happened: under a new token, lest the old one turn up after all.
  const auto lock = RunLock::take({.path = (*run)->dir});
  if (!lock) return false;
  submission.state = SubmissionState::never_sent;
  Submission again{.token = new_token(),
                   .run = submission.run,
                   .reason = submission.reason,
                   .intended_s = now_s};
  auto closed = store_.decide({.run = **run, .submissions = {submission, again}, .notice = {}});
  if (closed) closed = send(**run, again, now_s);
  if (!closed) return std::move(closed).error();
  return again.state != SubmissionState::intended;
}

std::vector<std::int64_t> Submitter::recover(double now_s) {
  std::vector<std::int64_t> changed;
  const auto open = store_.open_submissions();
  if (!open || open->empty()) return changed;
  if (holder_of(place_.submit_lock())) {
    sbatch_gone_s_ = now_s;
    return changed;
  }
  for (const auto& submission : *open) {
    auto known = recover_one(submission, now_s);
    if (!known) {
      world_.note("dllaunch: " + known.error().what + "\n");
      return changed;
    }
    if (*known) changed.push_back(submission.run);
  }
  return changed;
}

}  // namespace dllaunch
