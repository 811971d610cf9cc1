#include "launcher/preflight/preflight.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "launcher/base/nearest_name.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/rank/rendezvous/proof.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "launcher/slurm/srun_env_options.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns Slurm's name of this machine, else its own.
std::string own_name(System& system) {
  return system.environment("SLURMD_NODENAME").value_or(system.host_name());
}

std::vector<std::string> command(const std::string& dllaunch, const PreflightRequest& request) {
  std::vector<std::string> argv = {"env"};
  for (const auto& inherited : srun_env_options()) {
    argv.emplace_back("-u");
    argv.emplace_back(inherited.variable);
  }
  const auto nodes = request.hosts.size();
  // On TERM, srun forwards the output so far; it is killed if it does not exit.
  argv.insert(argv.end(), {"timeout",
                           "--kill-after=2",
                           std::to_string(request.patience.count()),
                           "srun",
                           "--jobid=" + request.job_id,
                           "--overlap",
                           "--nodelist=" + compress_hosts(request.hosts),
                           fmt::format("--nodes={}", nodes),
                           fmt::format("--ntasks={}", nodes),
                           "--ntasks-per-node=1",
                           "--cpu-bind=none",
                           "--mem-bind=none",
                           "--mem=0",
                           "--mpi=none",
                           "--input=none",
                           "--job-name=dllaunch-preflight",
                           "--kill-on-bad-exit=0",
                           "--quiet",
                           dllaunch,
                           "doctor",
                           "--preflight-node",
                           to_json(request).dump(-1, ' ', /*ensure_ascii=*/true,
                                                 Json::error_handler_t::replace)});
  return argv;
}

Result<Ok> check_request(const PreflightRequest& request) {
  if (request.hosts.empty()) return Error{ErrorKind::bad_request, "no node to look at", ""};
  if (request.hosts.size() > 1 && request.job_id.empty())
    return Error{ErrorKind::bad_request, "several nodes, but no Slurm job to look at them from",
                 "call it in a batch script or in salloc"};
  std::vector<std::string_view> names;
  for (const auto* check : preflight_checks()) names.push_back(check->name);
  for (const auto& name : request.skip) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string all;
    for (const auto known : names) all += (all.empty() ? "" : ", ") + std::string(known);
    return Error{ErrorKind::bad_request, fmt::format("there is no check `{}`", name),
                 "they are: " + all};
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
  constexpr std::chrono::seconds grace(3);
  const auto output = system.run(command(*program, request), request.patience + grace);
  unsetenv(preflight_secret);
  if (!output) return output.error();
  const auto silence = fmt::format("no answer within {} s", request.patience.count());
  const auto documents = read_answers(output->out);
  Gathered gathered;
  for (const auto& host : request.hosts) {
    const auto found = documents.find(host);
    if (found == documents.end()) {
      gathered.silent[host] = why_silent(host, output->err, silence);
      continue;
    }
    auto answer = node_answer_from_json(found->second);
    if (answer)
      gathered.answers.push_back(*std::move(answer));
    else
      gathered.silent[host] = answer.error().what;
  }
  if (gathered.answers.empty())
    return Error{ErrorKind::unavailable,
                 fmt::format("no node of job {} answered: {}", request.job_id,
                             why_silent("", output->err, silence)),
                 "all nodes need this dllaunch under the same path"};
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
