// Writes a first job file, from a program, an sbatch script or three questions.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/init/convert_sbatch.hpp"
#include "launcher/init/first_job.hpp"
#include "launcher/init/framework_of.hpp"
#include "launcher/init/job_draft.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch init --script train.py    train.yaml, for the framework it imports
  dllaunch init --from job.sbatch    job.yaml: its resources and commands
  dllaunch init                      three questions, or a first training
)";

struct Options {
  std::string framework;
  std::string script;
  std::string from;
  std::string output;
};

/// The answer at the terminal; `otherwise` if it is empty.
std::string ask(const std::string& question, const std::string& otherwise) {
  std::cerr << question << (otherwise.empty() ? "" : " [" + otherwise + "]") << ": " << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer) || answer.empty()) return otherwise;
  return answer;
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
  return Error{ErrorKind::unavailable, fmt::format("{} cannot be written", path),
               "is the disk full?"};
}

Result<int> deliver(System& system, const Options& options, const std::string& from,
                    const std::string& text) {
  const std::string path = options.output.empty() ? stem_of(from) + ".yaml" : options.output;
  if (path == "-") {
    system.print(text);
    return exit_code::success;
  }
  if (auto written = write_new_file(path, text); !written) return std::move(written).error();
  system.print(fmt::format("{}: written\n", path));
  if (system.console().verbosity >= 0)
    system.log(fmt::format("next: dllaunch plan --check {}\n", path));
  return exit_code::success;
}

/// Facts are a help here: a job file can be written without them.
Facts facts_here(System& system) {
  auto facts = find_facts(system, {});
  if (facts) return *std::move(facts);
  system.log("dllaunch: the cluster is not looked at: " + facts.error().what + "\n");
  return {};
}

Result<int> convert(System& system, const Options& options, const std::string& path) {
  const auto text = system.read_file(path);
  if (!text) return Error{ErrorKind::bad_request, text.error().what, "the path of a script"};
  const auto converted =
      convert_sbatch(*text, {.file = path,
                             .threads_per_core = threads_per_core(facts_here(system)),
                             .framework = options.framework});
  for (const auto& reason : converted.reasons)
    system.log(fmt::format("{}: cannot be converted: {}\n", path, reason));
  if (converted.job.empty()) return exit_code::found_problems;
  for (const auto& what : converted.dropped)
    system.log(fmt::format("{}: not taken over: {}\n", path, what));
  return deliver(system, options, path, converted.job);
}

/// Completes what the options leave open, by questions on a terminal.
Result<FirstJob> wishes(System& system, const Options& options) {
  FirstJob wanted{.script = options.script};
  const bool asks = options.script.empty() && options.framework.empty() &&
                    isatty(STDIN_FILENO) != 0 && system.console().terminal_err;
  if (asks) wanted.script = ask("Program to run (nothing: the built-in trainer)", "");
  std::string framework = options.framework;
  if (!wanted.script.empty()) {
    const auto text = system.read_file(wanted.script);
    if (!text) return Error{ErrorKind::bad_request, text.error().what, "the path of a program"};
    if (framework.empty()) framework = framework_of_program(*text);
    if (asks) framework = ask("Framework", framework);
  }
  if (!framework.empty()) wanted.framework = framework;
  if (!asks) return wanted;
  const auto nodes = parse_number<int>(ask("Nodes", "1"));
  if (!nodes) return Error{ErrorKind::bad_request, "that is no number of nodes", "such as 1"};
  wanted.nodes = *nodes;
  return wanted;
}

Result<int> init(System& system, const Options& options) {
  if (!options.from.empty()) return convert(system, options, options.from);
  if (!options.script.empty()) {
    const auto text = system.read_file(options.script);
    if (text && text->find("\n#SBATCH") != std::string::npos)
      return convert(system, options, options.script);
  }
  const auto wanted = wishes(system, options);
  if (!wanted) return wanted.error();
  const auto text = render_draft(first_job(*wanted, facts_here(system)));
  const auto parsed = parse_job(text, "the job file", {});
  if (!parsed.job)
    return Error{ErrorKind::bad_request, parsed.problems.front().message,
                 "see dllaunch init --help"};
  return deliver(system, options, wanted->script, text);
}

/// Those of the job file.
std::vector<std::string> frameworks() {
  return job_schema()["properties"]["framework"]["enum"];
}

CommandBody declare(CommandOptions& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--framework", options->framework, "the program's [what it imports]")
      ->type_name("F")
      ->check([](const std::string& name) {
        const auto known = frameworks();
        const bool found = std::ranges::find(known, name) != known.end();
        return found ? "" : fmt::format("is one of {}", fmt::join(known, ", "));
      });
  app.add_option("--script", options->script, "the program that every rank runs")
      ->type_name("FILE");
  app.add_option("--from", options->from, "convert this sbatch script")
      ->type_name("JOB.sbatch")
      ->excludes("--script");
  app.add_option("-o,--output", options->output,
                 "a new job file; -: stdout [named after the script]")
      ->type_name("FILE");
  return [options](System& system) { return init(system, *options); };
}

}  // namespace

extern const Command init_command;
const Command init_command{"init", "write a job file, from a program or an sbatch script", examples,
                           declare};

}  // namespace dllaunch
