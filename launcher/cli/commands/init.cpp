// Writes a first job file, from a program, an sbatch script or three questions.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/init/convert_sbatch.hpp"
#include "launcher/init/first_job.hpp"
#include "launcher/init/framework_of.hpp"
#include "launcher/init/job_draft.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view init_examples =
    R"(  dllaunch init --script train.py    train.yaml, for the framework it imports
  dllaunch init --from job.sbatch    job.yaml: its resources and commands
  dllaunch init                      three questions, or a first training
)";

struct InitArguments {
  std::string framework;
  std::string script;
  std::string from;
  std::string cluster;
  std::string output;
};

/// Says what is wrong with an answer; empty: nothing.
using Mistake = std::function<std::string(const std::string& answer)>;

/// The answer at the terminal; `otherwise` if it is empty. Asks again until there is no mistake.
Result<std::string> ask(System& system, const std::string& question, const std::string& otherwise,
                        const Mistake& mistake) {
  for (;;) {
    const auto usual = otherwise.empty() ? "" : fmt::format(" [{}]", otherwise);
    system.log(fmt::format("{}{}: ", question, usual));
    std::string answer;
    if (!std::getline(std::cin, answer)) {
      system.log("\n");
      return Error{ErrorKind::bad_request, "the input ended before the answer: nothing is written",
                   "dllaunch init --script FILE asks no questions"};
    }
    if (answer.empty()) answer = otherwise;
    const std::string wrong = mistake(answer);
    if (wrong.empty()) return answer;
    system.log("  " + wrong + "\n");
  }
}

Result<Ok> write_new_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr && errno == EEXIST)
    return Error{ErrorKind::bad_request, fmt::format("{} is there already", path),
                 "init overwrites nothing: name another file with -o"};
  if (file == nullptr)
    return Error{ErrorKind::bad_request, fmt::format("{}: {}", path, std::strerror(errno)),
                 "name another file with -o"};
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && written) return Ok{};
  std::remove(path.c_str());
  return Error{ErrorKind::unavailable, fmt::format("{} cannot be written", path),
               "is the disk full?"};
}

Result<int> deliver(System& system, const InitArguments& options, const std::string& from,
                    std::string text, std::string_view next) {
  text = for_cluster(std::move(text), options.cluster);
  const std::string path = options.output.empty() ? stem_of(from) + ".yaml" : options.output;
  if (path == "-") {
    system.print(text);
    return exit_code::success;
  }
  if (auto written = write_new_file(path, text); !written) return std::move(written).error();
  system.print(fmt::format("{}: written\n", path));
  if (system.console().verbosity >= 0)
    system.log(fmt::format("{}: dllaunch plan --check {}\n", next, path));
  return exit_code::success;
}

/// Facts are a help here: a job file can be written without them.
Facts facts_here(System& system) {
  auto facts = find_facts(system, {});
  if (facts) return *std::move(facts);
  system.log("dllaunch: the cluster is not looked at: " + facts.error().what + "\n");
  return {};
}

/// Of the cluster that the job file is for. A named one must be known.
Result<Facts> facts_for(System& system, const InitArguments& options) {
  return options.cluster.empty() ? facts_here(system) : find_facts(system, {}, options.cluster);
}

/// The framework that the script's program imports, if it says more than the script.
std::string framework_that_fits(System& system, const ConvertedScript& converted) {
  const auto program = system.read_file(converted.program);
  const auto imported = program ? framework_of_program(*program) : "none";
  const bool more =
      converted.framework == "none" || (converted.framework == "mpi" && imported == "horovod");
  return more ? imported : converted.framework;
}

Result<int> convert(System& system, const InitArguments& options, const std::string& path) {
  const auto text = system.read_file(path);
  if (!text) return Error{ErrorKind::bad_request, text.error().what, "the path of a script"};
  const auto found = facts_for(system, options);
  if (!found) return found.error();
  const Facts& facts = *found;
  SbatchOrigin origin{.file = path,
                      .threads_per_core = threads_per_core(facts),
                      .framework = options.framework,
                      .is_program = [&system](const std::string& name) {
                        return system.find_program("./" + name).has_value();
                      }};
  auto converted = convert_sbatch(*text, origin);
  if (origin.framework.empty() && !converted.program.empty()) {
    origin.framework = framework_that_fits(system, converted);
    converted = convert_sbatch(*text, origin);
  }
  for (const auto& reason : converted.reasons)
    system.log(fmt::format("{}: cannot be converted: {}\n", path, reason));
  if (converted.job.empty()) return exit_code::found_problems;
  for (const auto& line : converted.account)
    system.log(fmt::format("{}: Slurm gives it: {}\n", path, line));
  for (const auto& what : converted.dropped)
    system.log(fmt::format("{}: not taken over: {}\n", path, what));
  if (converted.counts_cpus && !facts.slurm)
    system.log(fmt::format(
        "{}: note: cpus_per_rank counts cores; the script's CPUs are taken for cores, as there is "
        "no Slurm here to ask: halve it if a core has two hardware threads\n",
        path));
  const char* next = facts.slurm ? "next" : "next, on the cluster";
  return deliver(system, options, path, converted.job, next);
}

/// Those of the job file.
std::vector<std::string> frameworks() {
  return job_schema()["properties"]["framework"]["enum"];
}

std::string unknown_framework(const std::string& name) {
  const auto known = frameworks();
  const bool found = std::ranges::find(known, name) != known.end();
  return found ? "" : fmt::format("it is one of {}", fmt::join(known, ", "));
}

std::string no_node_count(const std::string& answer) {
  const bool counts = parse_number<int>(answer).value_or(0) > 0;
  return counts ? "" : "it is a whole number from 1 on";
}

Result<int> write_first_job(System& system, const InitArguments& options, bool asks) {
  FirstJob wanted{.script = options.script, .framework = options.framework};
  if (!wanted.script.empty()) {
    const auto text = system.read_file(wanted.script);
    if (!text) return Error{ErrorKind::bad_request, text.error().what, "the path of a program"};
    if (is_sbatch_script(*text)) return convert(system, options, wanted.script);
    if (wanted.framework.empty()) wanted.framework = framework_of_program(*text);
    if (asks) {
      auto framework = ask(system, "Framework", wanted.framework, unknown_framework);
      if (!framework) return std::move(framework).error();
      wanted.framework = *framework;
    }
  }
  if (wanted.framework.empty()) wanted.framework = "none";
  if (asks) {
    const auto nodes = ask(system, "Nodes", "1", no_node_count);
    if (!nodes) return nodes.error();
    wanted.nodes = *parse_number<int>(*nodes);
  }
  const auto facts = facts_for(system, options);
  if (!facts) return facts.error();
  const auto text = render_draft(first_job(wanted, *facts));
  const auto parsed = parse_job(text, "the job file", {});
  if (!parsed.job)
    return Error{ErrorKind::bad_request, parsed.problems.front().message,
                 "see dllaunch init --help"};
  return deliver(system, options, wanted.script, text, "next");
}

/// Asks on a terminal what no option says.
Result<int> init(System& system, InitArguments options) {
  if (!options.from.empty()) return convert(system, options, options.from);
  const bool asks = options.script.empty() && options.framework.empty() &&
                    isatty(STDIN_FILENO) != 0 && system.console().terminal_err;
  if (asks) {
    const auto unreadable = [&system](const std::string& path) {
      const auto text = system.read_file(path);
      return path.empty() || text ? "" : text.error().what;
    };
    auto script = ask(system, "Program to run (empty: the built-in trainer)", "", unreadable);
    if (!script) return std::move(script).error();
    options.script = *script;
  }
  return write_first_job(system, options, asks);
}

CommandBody declare_init(CommandOptions& app) {
  auto options = std::make_shared<InitArguments>();
  app.add_option("--framework", options->framework, "the program's [what it imports]")
      ->type_name("FRAMEWORK")
      ->check(unknown_framework);
  app.add_option("--script", options->script, "the program that every rank runs")
      ->type_name("FILE");
  app.add_option("--from", options->from, "convert this sbatch script")
      ->type_name("SCRIPT.sbatch")
      ->excludes("--script");
  add_cluster(app, options->cluster);
  app.add_option("-o,--output", options->output,
                 "a new job file; -: stdout [named after the script]")
      ->type_name("FILE");
  return [options](System& system) { return init(system, *options); };
}

}  // namespace

extern const Command init_command;
const Command init_command{"init", "write a job file, from a program or an sbatch script",
                           init_examples, declare_init};

}  // namespace dllaunch
