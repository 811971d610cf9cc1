#include "launcher/sweep/optuna_sampler.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/sweep/optuna_journal.hpp"
#include "launcher/sweep/optuna_records.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// Importing Optuna takes seconds on a file system that is far away.
constexpr auto longest = 120s;

std::string words_of(const std::string& journal) {
  return journal + ".err";
}

/// Not in the request: a path may have bytes that are not UTF-8, which JSON cannot say.
std::vector<std::string> command_of(const Json& request, const std::string& journal = {}) {
  std::vector<std::string> argv = {"python3", "-c", std::string(optuna_script()), request.dump()};
  if (!journal.empty()) argv.push_back(journal);
  return argv;
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
                        {"study", study},
                        {"space", distributions}};
  const auto words = words_of(journal);
  std::error_code ignored;
  std::filesystem::remove(words, ignored);
  auto process = OwnedProcess::start({.program = *python,
                                      .argv = command_of(request, journal),
                                      .environment = {},
                                      .output_path = words});
  if (!process) return std::move(process).error();
  return OptunaAsk(*std::move(process), wanted.sampler, journal);
}

OptunaAsk::OptunaAsk(OwnedProcess process, std::string sampler, std::string journal)
    : process_(std::make_unique<OwnedProcess>(std::move(process))),
      sampler_(std::move(sampler)),
      journal_(std::move(journal)),
      words_(words_of(journal_)) {
  struct stat words {};
  if (::stat(words_.c_str(), &words) == 0) began_file_ = words.st_mtim;
}

OptunaAsk::~OptunaAsk() {
  if (!process_ || answered_) return;
  process_.reset();
  remove_lock_of_killed(journal_, began_file_);
}

std::optional<Result<Ok>> OptunaAsk::poll() {
  constexpr std::size_t most_bytes = 65536;
  if (const auto code = process_->poll()) {
    auto end = judged(sampler_, *code, file_end(words_, most_bytes));
    answered_ = static_cast<bool>(end);
    std::error_code ignored;
    if (end) std::filesystem::remove(words_, ignored);
    return end;
  }
  if (std::chrono::steady_clock::now() - began_ < longest) return std::nullopt;
  return judged(sampler_, 1, fmt::format("no answer within {} s", longest.count()));
}

}  // namespace dllaunch
