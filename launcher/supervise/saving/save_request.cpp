#include "launcher/supervise/saving/save_request.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/overlap_step.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds pause_between_looks(500);  // each reads /proc
constexpr seconds patience_with_step(5);          // a busy Slurm starts it late
constexpr std::string_view asked_mark = "dllaunch: asked rank";

AskRanks::Variables marks_of(const std::string& run_dir, std::int64_t fencing_token) {
  return {{"DLLAUNCH_RUN_DIR", run_dir}, {fencing_token_variable, std::to_string(fencing_token)}};
}

/// Tells which ranks have been asked now.
bool look_here(System& system, AskRanks& ranks, bool last) {
  const auto asked = ranks.look(last);
  if (asked.empty()) return false;
  system.log(fmt::format("{}{} {} on {} to save\n", asked_mark, asked.size() > 1 ? "s" : "",
                         fmt::join(asked, ","), system.host_name()));
  return true;
}

std::vector<std::string> asking_argv(const SupervisedRun& run, const std::string& nodes,
                                     const std::string& dllaunch, const std::string& order,
                                     seconds limit) {
  const auto hosts = expand_hosts(nodes);
  auto argv = argv_of({.group = run.allocation.group,
                       .nodes = nodes,
                       .count = hosts ? hosts->size() : 1,
                       .name = "dllaunch-ask",
                       .light = true,
                       .limit = limit,
                       .grace = seconds(1)},
                      {dllaunch, "supervise", "--ask-ranks", order, "--run-dir", run.dir.path});
  // Processes with the variable count as ranks.
  argv.insert(argv.begin() + 1, {"-u", "DLLAUNCH_RUN_DIR"});
  return argv;
}

std::string other_nodes(const JobAllocation& allocation) {
  auto nodes = expand_hosts(allocation.nodes);
  if (!nodes) return "";
  std::erase(*nodes, allocation.host);
  return compress_hosts(*nodes);
}

}  // namespace

SaveRequest::SaveRequest(System& system, const SupervisedRun& run, std::int64_t fencing_token)
    : system_(system),
      run_(run),
      fencing_token_(fencing_token),
      here_(marks_of(run.dir.path, fencing_token), run.signal) {}

void SaveRequest::make(Time now, seconds patience, const StarterProcess& starter) {
  const bool first = !made();
  const auto give_up_at = now + patience + patience_with_step;
  if (first || give_up_at < *give_up_at_) give_up_at_ = give_up_at;
  if (!first) return;
  // The built-in trainer is the only process of its ranks. Without Slurm nothing reaches the other
  // nodes but the starter.
  if (run_.recovery.trains || run_.allocation.job.empty()) return starter.send(run_.signal);
  waits_ = true;
  elsewhere_ = other_nodes(run_.allocation);
  look(now, starter);
}

void SaveRequest::look(Time now, const StarterProcess& starter) {
  if (!waits_ || now < next_look_) return;
  next_look_ = now + pause_between_looks;
  const bool patient = now < *give_up_at_ - patience_with_step;
  asked_here_ |= look_here(system_, here_, !patient);
  look_elsewhere(now);
  const bool all_here = here_.without_handler().empty();
  if (now < *give_up_at_ && (!elsewhere_.empty() || (patient && !all_here))) return;
  waits_ = false;
  step_.reset();
  const bool nobody = !asked_here_ && !asked_elsewhere_;
  // srun needs no controller for it; what is harmless here is so there.
  if (nobody || (!elsewhere_.empty() && !here_.would_end_others()))
    return starter.send(run_.signal);
  if (!elsewhere_.empty())
    system_.log(
        fmt::format("dllaunch: {} did not answer in time: ranks there may not have been "
                    "asked to save\n",
                    elsewhere_));
}

/// Clears `elsewhere_` when the step there has done its work.
void SaveRequest::look_elsewhere(Time now) {
  if (elsewhere_.empty()) return;
  if (!step_) {
    const auto dllaunch = own_executable();
    const auto env = system_.find_program("env");
    if (!dllaunch || !env) return;
    const auto left = std::chrono::ceil<seconds>(*give_up_at_ - now);
    const auto order = fmt::format("{}:{}:{}", run_.signal, fencing_token_,
                                   std::max(left - patience_with_step, seconds(0)).count());
    auto started = StarterProcess::start(
        *env, asking_argv(run_, elsewhere_, *dllaunch, order, left + seconds(1)), {});
    if (started) step_.emplace(*std::move(started));
    return;
  }
  step_->pass_on_output();
  const auto code = step_->poll();
  if (code) step_->pass_on_output(/*ended=*/true);
  asked_elsewhere_ |= step_->output().find(asked_mark) != std::string::npos;
  if (!code) return;
  step_.reset();
  if (*code == 0) elsewhere_.clear();
}

Result<Ok> ask_ranks_here(System& system, const std::string& run_dir, const std::string& order) {
  const auto words = split_at(order, ':');
  const bool three = words.size() == 3;
  const auto signal = three ? parse_number<int>(words[0]) : std::nullopt;
  const auto token = three ? parse_number<std::int64_t>(words[1]) : std::nullopt;
  const auto patience = three ? parse_number<int>(words[2]) : std::nullopt;
  if (!signal || !token || !patience || *signal <= 0 || *signal > SIGRTMAX)
    return Error{ErrorKind::bad_request, fmt::format("{} is not SIGNAL:N:SECONDS", order), ""};
  AskRanks ranks(marks_of(run_dir, *token), *signal);
  const auto until = std::chrono::steady_clock::now() + seconds(*patience);
  while (true) {
    const bool over = std::chrono::steady_clock::now() >= until;
    look_here(system, ranks, over);
    if (over || ranks.without_handler().empty()) return Ok{};
    std::this_thread::sleep_for(pause_between_looks);
  }
}

}  // namespace dllaunch
