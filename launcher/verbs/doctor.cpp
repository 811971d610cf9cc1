// What is wrong with where ranks run: on this node, of a process, of every rank of a job.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "launcher/doctor/examine.hpp"
#include "launcher/verb.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch doctor                                this node, and how this shell is bound
  dllaunch doctor --pid 4711                     a running rank, and its job's other ranks here
  dllaunch doctor --json                         for a program; exit code 4 on a failure
)";

struct Options {
  int pid = 0;
  bool json = false;
};

Result<int> examine(World& world, const Options& options) {
  auto report = options.pid > 0 ? examine_process(world, options.pid) : examine_here(world);
  if (!report) return std::move(report).error();
  const Console& console = world.console();
  world.print(options.json ? to_json(*report).dump(2) + "\n"
                           : render_report(*report, console.columns, console.color_out));
  return worst(*report) == Level::fail ? exit_code::found_problems : exit_code::success;
}

VerbBody declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--pid", options->pid, "a running process; with it the other ranks of its job")
      ->type_name("P")
      ->check(CLI::Range(1, 1 << 22).description(""));
  app.add_flag("--json", options->json, "one JSON document");
  return [options](World& world) { return examine(world, *options); };
}

}  // namespace

extern const Verb doctor_verb;
const Verb doctor_verb{"doctor", "what is wrong with where ranks run, and what fixes it", examples,
                       declare};

}  // namespace dllaunch
