#include "launcher/sweep/optuna_sampler.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/sweep/optuna_records.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// Importing Optuna takes seconds on a file system that is far away.
constexpr auto longest = 120s;

std::vector<std::string> command_of(const Json& request) {
  return {"python3", "-c", std::string(optuna_script()), request.dump()};
}

/// How the script ended; `err`: what it wrote to standard error.
Result<Ok> judged(const std::string& sampler, int exit_code, const std::string& err) {
  if (exit_code == 0) return Ok{};
  std::string last = fmt::format("python3 ended with {}", exit_code);
  for (const auto line : split_lines(err))
    if (!line.empty()) last = shown_line(line);
  return Error{ErrorKind::unavailable, fmt::format("sampler: {{optuna: {}}}: {}", sampler, last),
               last.find("has no Optuna") != std::string::npos
                   ? "python3 -m pip install optuna, or sampler: random"
                   : "the same command with --run-dir continues"};
}

}  // namespace

Result<Ok> check_optuna(System& system, const JobSweep& wanted) {
  const auto told =
      system.run(command_of({{"sampler", wanted.sampler}, {"seed", wanted.seed}}), longest);
  if (!told) {
    Error error = told.error();
    return std::move(error).within("sampler: {optuna: " + wanted.sampler + "}");
  }
  return judged(wanted.sampler, told->exit_code, told->err);
}

Result<OptunaAsk> OptunaAsk::start(System& system, const std::string& journal,
                                   const std::string& study, const std::vector<Parameter>& space,
                                   const JobSweep& wanted, int number) {
  const auto python = system.find_program("python3");
  if (!python) return Error{ErrorKind::unavailable, "python3 is not installed", ""};
  Json distributions = Json::object();
  for (const Parameter& parameter : space)
    distributions[parameter.name] = distribution_of(parameter);
  // A sampler of its own draws each trial: with the same seed, all would be alike.
  const Json request = {{"sampler", wanted.sampler},
                        {"seed", (static_cast<std::int64_t>(wanted.seed) + number) % 2'147'483'647},
                        {"journal", journal},
                        {"study", study},
                        {"space", distributions}};
  const auto words = journal + ".err";
  std::error_code ignored;
  std::filesystem::remove(words, ignored);
  auto process = OwnedProcess::start(
      {.program = *python, .argv = command_of(request), .environment = {}, .output_path = words});
  if (!process) return std::move(process).error();
  return OptunaAsk(*std::move(process), wanted.sampler, words);
}

std::optional<Result<Ok>> OptunaAsk::poll() {
  constexpr std::size_t most_bytes = 65536;
  if (const auto code = process_.poll()) {
    auto end = judged(sampler_, *code, file_end(words_, most_bytes));
    std::error_code ignored;
    if (end) std::filesystem::remove(words_, ignored);
    return end;
  }
  if (std::chrono::steady_clock::now() - began_ < longest) return std::nullopt;
  return judged(sampler_, 1, fmt::format("no answer within {} s", longest.count()));
}

}  // namespace dllaunch
