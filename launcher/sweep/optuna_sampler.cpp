#include "launcher/sweep/optuna_sampler.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/sweep/optuna_records.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// Importing Optuna takes seconds on a file system that is far away.
constexpr auto longest = 120s;

Result<Ok> run_script(System& system, const JobSweep& wanted, const Json& request) {
  auto told = system.run({"python3", "-c", std::string(optuna_script()), request.dump()}, longest);
  if (!told) return std::move(told).error().within("sampler: {optuna: " + wanted.sampler + "}");
  if (told->exit_code == 0) return Ok{};
  std::string last = fmt::format("python3 ended with {}", told->exit_code);
  for (const auto line : split_lines(told->err))
    if (!line.empty()) last = shown_line(line);
  return Error{ErrorKind::unavailable,
               fmt::format("sampler: {{optuna: {}}}: {}", wanted.sampler, last),
               last.find("has no Optuna") != std::string::npos
                   ? "python3 -m pip install optuna, or sampler: random"
                   : "the same command with --run-dir continues"};
}

}  // namespace

Result<Ok> check_optuna(System& system, const JobSweep& wanted) {
  return run_script(system, wanted, {{"sampler", wanted.sampler}, {"seed", wanted.seed}});
}

Result<Ok> ask_optuna(System& system, const std::string& journal, const std::string& study,
                      const std::vector<Parameter>& space, const JobSweep& wanted, int number) {
  Json distributions = Json::object();
  for (const Parameter& parameter : space)
    distributions[parameter.name] = distribution_of(parameter);
  // A sampler of its own draws each trial: with the same seed, all would be alike.
  return run_script(system, wanted,
                    {{"sampler", wanted.sampler},
                     {"seed", (static_cast<std::int64_t>(wanted.seed) + number) % 2'147'483'647},
                     {"journal", journal},
                     {"study", study},
                     {"space", distributions}});
}

}  // namespace dllaunch
