#include "launcher/preflight/preflight.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "launcher/base/nearest_name.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

/// Returns Slurm's name of this machine, else its own.
std::string own_name(System& system) {
  return system.environment("SLURMD_NODENAME").value_or(system.host_name());
}

Result<Ok> check_request(const PreflightRequest& request) {
  if (request.hosts.empty()) return Error{ErrorKind::bad_request, "no node to check", ""};
  if (request.hosts.size() > 1 && request.job_id.empty())
    return Error{ErrorKind::bad_request, "checking several nodes needs a Slurm job",
                 "call it in a batch script or in salloc"};
  std::vector<std::string_view> names;
  for (const auto* check : preflight_checks()) names.push_back(check->name);
  for (const auto& name : request.skip) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string all;
    for (const auto known : names) all += (all.empty() ? "" : ", ") + std::string(known);
    return Error{ErrorKind::bad_request, fmt::format("there is no check '{}'", name),
                 "use one of: " + all};
  }
  return Ok{};
}

struct Gathered {
  std::vector<NodeAnswer> answers = {};
  std::map<std::string, std::string> silent = {};
};

Result<Gathered> ask_all(System& system, const PreflightRequest& request) {
  const auto program = own_executable();
  if (!program) return program.error();
  // srun passes the environment on.
  setenv(preflight_secret, new_secret().c_str(), 1);
  const auto asked =
      to_json(request).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  const auto survey =
      survey_nodes(system, request.hosts,
                   {.job = request.job_id,
                    .group = system.environment(het_group_variable).value_or(""),
                    .nodes = compress_hosts(request.hosts),
                    .count = request.hosts.size(),
                    .name = "dllaunch-preflight",
                    .limit = request.patience,
                    .grace = std::chrono::seconds(2)},
                   {*program, "doctor", "--preflight-node", asked}, std::chrono::seconds(3));
  unsetenv(preflight_secret);
  if (!survey) return survey.error();
  Gathered gathered;
  for (const auto& [host, document] : survey->answers) {
    auto answer =
        document ? node_answer_from_json(*document) : Result<NodeAnswer>(document.error());
    if (answer)
      gathered.answers.push_back(*std::move(answer));
    else
      gathered.silent[host] = answer.error().what;
  }
  if (gathered.answers.empty())
    return Error{ErrorKind::unavailable,
                 fmt::format("no node of job {} answered: {}", request.job_id, survey->complaint),
                 "dllaunch must have the same path on all nodes"};
  return gathered;
}

}  // namespace

Result<PreflightReport> preflight(System& system, const PreflightRequest& asked) {
  const auto begin = Clock::now();
  auto request = asked;
  if (auto good = check_request(request); !good) return std::move(good).error();
  request.mark = fmt::format("{}.{}.{:x}", request.job_id.empty() ? "0" : request.job_id, getpid(),
                             begin.time_since_epoch().count());
  const auto name = own_name(system);
  const bool here =
      request.hosts.size() == 1 && (request.job_id.empty() || request.hosts.front() == name);
  Gathered gathered;
  if (here) {
    gathered.answers.push_back(observe_node({request, system, request.hosts.front()}));
  } else {
    auto asked_all = ask_all(system, request);
    if (!asked_all) return std::move(asked_all).error();
    gathered = *std::move(asked_all);
  }
  auto report = judge_preflight(request, gathered.answers, gathered.silent);
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return report;
}

Result<Ok> answer_preflight(System& system, const std::string& request_text) {
  const auto document = Json::parse(request_text, nullptr, /*allow_exceptions=*/false);
  const auto request = preflight_request_from_json(document);
  if (!request) return request.error();
  const auto name = own_name(system);
  system.print(answer_lines(name, to_json(observe_node({*request, system, name}))));
  return Ok{};
}

}  // namespace dllaunch
