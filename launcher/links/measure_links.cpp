#include "launcher/links/measure_links.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>

#include "launcher/links/link_messages.hpp"
#include "launcher/links/next_order.hpp"
#include "launcher/os/dialogue.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/preflight/request.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "launcher/slurm/overlap_step.hpp"
#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

/// A transfer between two of few busy hosts takes less time to settle.
constexpr milliseconds round_transfer(80);
constexpr milliseconds single_transfer(60);
/// A pull takes at most four transfers and 1.8 s (link_pull.hpp).
constexpr milliseconds order_patience(2200);
/// After the first host has answered. srun's standard input waits for all.
constexpr milliseconds patience_for_others(2500);
constexpr milliseconds time_to_end(1300);

/// srun and the hosts' processes.
struct Talk {
  Dialogue srun;
  std::vector<std::string> hosts = {};
  std::string complaint = {};  // the first line that is not a reply

  std::optional<LinkReply> hear(Clock::time_point deadline) {
    while (Clock::now() < deadline) {
      const auto line = srun.hear(deadline);
      if (!line) break;
      if (auto reply = link_reply_from(*line, hosts.size())) return reply;
      if (complaint.empty()) complaint = *line;
    }
    return std::nullopt;
  }
};

Result<Talk> start(System& system, const LinkRequest& request, std::vector<std::string> hosts,
                   Clock::time_point deadline) {
  const auto program = own_executable();
  if (!program) return program.error();
  const auto env = system.find_program("env");
  if (!env) return Error{ErrorKind::unavailable, "there is no env in PATH", ""};
  const auto left = std::chrono::duration<double>(deadline - Clock::now()).count();
  const LinkTask task{
      .hosts = hosts, .host_suffix = request.host_suffix, .mark = new_nonce(), .seconds = left + 1};
  // srun passes the environment on.
  setenv(preflight_secret, new_secret().c_str(), 1);
  auto argv = argv_of({.job = request.job_id,
                       .group = system.environment(het_group_variable).value_or(""),
                       .nodes = compress_hosts(hosts),
                       .count = hosts.size(),
                       .name = "dllaunch-links",
                       .hears = true,
                       .limit = std::chrono::seconds(static_cast<int>(left) + 2),
                       .grace = std::chrono::seconds(1)},
                      {*program, "doctor", "--links-node", to_text(task)});
  argv.front() = *env;
  auto srun = Dialogue::start(argv);
  unsetenv(preflight_secret);
  if (!srun) return std::move(srun).error();
  return Talk{.srun = *std::move(srun), .hosts = std::move(hosts)};
}

using Doors = std::map<std::size_t, LinkDoor>;

/// Waits until every host has answered, or the others have waited long enough for the last.
Doors greet(Talk& talk, Clock::time_point deadline) {
  Doors doors;
  auto until = deadline;
  while (doors.size() < talk.hosts.size() && Clock::now() < until) {
    const auto reply = talk.hear(until);
    if (!reply) break;
    if (!reply->door) continue;
    if (doors.empty()) until = std::min(deadline, Clock::now() + patience_for_others);
    doors[reply->host] = *reply->door;
  }
  return doors;
}

/// The hosts' processes end when their input does. Of one that hangs srun is told to end it.
void end(Talk& talk) {
  constexpr milliseconds patience(600);
  talk.srun.say_no_more();
  for (const bool ask : {false, true}) {
    if (ask && !talk.srun.ended()) talk.srun.send(SIGTERM);
    const auto until = Clock::now() + patience;
    while (Clock::now() < until && talk.srun.hear(until)) continue;
  }
}

class Measuring {
 public:
  Measuring(Talk& talk, Doors doors, Clock::time_point deadline)
      : talk_(talk), deadline_(deadline), survey_{.hosts = talk.hosts.size()} {
    LinkCall call;
    for (const auto& [host, door] : doors) call.doors.push_back(door);
    talk_.srun.say(to_line(call));
  }

  /// nullopt: srun ended too early, or no host answers any more. Neither says anything about the
  /// hosts.
  std::optional<LinkSurvey> finish() {
    while (Clock::now() < deadline_) {
      const auto order = next_order(survey_, standing_of(survey_));
      if (!order) break;
      if (!carry_out(*order)) return std::nullopt;
    }
    wait_for_the_silent();
    if (!survey_.silent.empty() && talk_.srun.ended()) return std::nullopt;
    if (survey_.silent.size() == survey_.hosts) return std::nullopt;
    return survey_;
  }

 private:
  /// False: srun has ended, or does not listen.
  bool carry_out(const LinkOrder& order) {
    LinkCall call{
        .order = ++number_,
        .milliseconds = static_cast<int>((order.round ? round_transfer : single_transfer).count()),
        .pulls = order.pulls};
    survey_.done.push_back({.order = order});
    if (!order.pulls.empty() && !talk_.srun.say(to_line(call))) return false;
    std::set<std::size_t> awaited;
    for (const auto& pull : order.pulls) awaited.insert(pull.to);
    const auto until = std::min(deadline_, Clock::now() + order_patience);
    while (!awaited.empty() && Clock::now() < until) {
      const auto reply = talk_.hear(until);
      if (!reply) break;
      survey_.silent.erase(reply->host);
      const auto asked = std::ranges::find(order.pulls, reply->data.pull) != order.pulls.end();
      if (reply->order != number_ || !asked || awaited.erase(reply->host) == 0) continue;
      survey_.done.back().pulled.push_back(reply->data);
    }
    if (!awaited.empty() && talk_.srun.ended()) return false;
    // Time that is up says nothing about the hosts.
    if (Clock::now() < deadline_) survey_.silent.insert(awaited.begin(), awaited.end());
    return true;
  }

  /// A process that was only late for its turn speaks up.
  void wait_for_the_silent() {
    const auto until = std::min(deadline_, Clock::now() + order_patience);
    while (!survey_.silent.empty() && Clock::now() < until) {
      const auto reply = talk_.hear(until);
      if (!reply) return;
      survey_.silent.erase(reply->host);
    }
  }

  Talk& talk_;
  Clock::time_point deadline_;
  LinkSurvey survey_;
  std::size_t number_ = 0;
};

/// The survey of those who answered, in terms of all hosts.
LinkSurvey renumbered(LinkSurvey survey, const std::vector<std::string>& all,
                      const std::vector<std::string>& some) {
  std::vector<std::size_t> numbers;
  std::set<std::size_t> silent;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::find(some, all[i]) != some.end())
      numbers.push_back(i);
    else
      silent.insert(i);
  }
  const auto renumber = [&numbers](Pull& pull) { pull = {numbers[pull.to], numbers[pull.from]}; };
  for (auto& done : survey.done) {
    std::ranges::for_each(done.order.pulls, renumber);
    for (auto& data : done.pulled) renumber(data.pull);
  }
  for (const auto host : survey.silent) silent.insert(numbers[host]);
  survey.silent = silent;
  survey.hosts = all.size();
  return survey;
}

Error broken_off(const LinkRequest& request, const std::string& complaint) {
  return {ErrorKind::unavailable,
          fmt::format("the nodes of job {} stopped answering before their links were measured{}{}",
                      request.job_id, complaint.empty() ? "" : ": ", complaint),
          "run it again, if the job still runs"};
}

}  // namespace

Result<LinkMeasurement> measure_links(System& system, const LinkRequest& request) {
  const auto begin = Clock::now();
  const auto deadline = begin + request.limit - time_to_end;
  if (request.hosts.size() < 2 || request.job_id.empty())
    return Error{ErrorKind::bad_request, "measuring links needs a Slurm job with two nodes",
                 "call it in a batch script or in salloc"};
  auto hosts = request.hosts;
  std::string complaint;
  // What does not answer the first time is left out the second time.
  for (int attempt = 0; attempt < 2 && hosts.size() >= 2; ++attempt) {
    auto talk = start(system, request, hosts, deadline);
    if (!talk) return std::move(talk).error();
    auto doors = greet(*talk, std::min(deadline, begin + request.limit * (attempt + 1) / 2));
    if (complaint.empty()) complaint = talk->complaint;
    if (doors.size() == hosts.size()) {
      auto survey = Measuring(*talk, std::move(doors), deadline).finish();
      end(*talk);
      if (!survey) return broken_off(request, talk->complaint);
      LinkMeasurement measured{.hosts = request.hosts};
      measured.survey = renumbered(*std::move(survey), request.hosts, hosts);
      measured.verdict = judge_links(measured.survey);
      measured.complaint = complaint.empty() ? talk->complaint : complaint;
      measured.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      return measured;
    }
    end(*talk);
    std::vector<std::string> there;
    for (const auto& [host, door] : doors) there.push_back(hosts[host]);
    hosts = std::move(there);
  }
  return Error{ErrorKind::unavailable,
               fmt::format("fewer than two nodes of job {} answered{}{}", request.job_id,
                           complaint.empty() ? "" : ": ", complaint),
               "dllaunch must have the same path on all nodes"};
}

}  // namespace dllaunch
