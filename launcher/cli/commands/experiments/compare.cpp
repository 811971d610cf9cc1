// Compares runs, studies and sweeps.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/compare/compare_page.hpp"
#include "launcher/compare/compare_text.hpp"
#include "launcher/compare/comparison.hpp"
#include "launcher/compare/read_run.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view compare_examples =
    R"(  dllaunch compare resnet-a resnet-b           figures, and what differs
  dllaunch compare runs/* --html               a page with all curves: compare.html
  dllaunch compare a b --accuracy 0.75 --json  how soon each had that accuracy
  dllaunch compare scaling-old scaling-new     two studies, by their directories
)";

struct CompareArguments {
  std::vector<std::string> runs;
  double loss = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  bool html = false;
  std::string output;
  bool json = false;
};

std::optional<double> given(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

Result<Comparison> read_all(const CompareArguments& options, System& system) {
  if (options.runs.size() < 2 || options.runs.size() > most_compared)
    return Error{
        ErrorKind::bad_request,
        fmt::format("compare takes 2 to {} runs, not {}", most_compared, options.runs.size()),
        "`dllaunch ps --all` lists the runs"};
  if (options.accuracy < 0 || options.accuracy > 1)
    return Error{ErrorKind::bad_request,
                 fmt::format("--accuracy {} is not between 0 and 1", options.accuracy),
                 "write 0.97 for 97 %"};
  std::vector<ComparedRun> runs;
  std::vector<LeftOutRun> left_out;
  for (const auto& query : options.runs) {
    auto run = read_compared(system, query);
    if (run) {
      runs.push_back(*std::move(run));
    } else {
      left_out.push_back({query, run.error().what});
    }
  }
  if (runs.size() < 2) {
    std::string why;
    for (const auto& one : left_out) why += (why.empty() ? "" : "; ") + one.query + ": " + one.why;
    return Error{ErrorKind::bad_request, "fewer than two runs can be read: " + why,
                 "`dllaunch ps --all` lists the runs"};
  }
  return compare_runs(std::move(runs), std::move(left_out),
                      {.loss = given(options.loss), .accuracy = given(options.accuracy)});
}

Result<int> write_page(const CompareArguments& options, const Comparison& comparison,
                       System& system) {
  std::error_code ignored;
  const auto path = options.output.empty() ? "compare.html" : options.output;
  const auto output = std::filesystem::absolute(path, ignored).string();
  const auto text = html_page(compare_page(comparison));
  // It holds keys of job files: no other user may read it.
  auto written = write_file(output, text, Readers::none);
  if (!written) {
    auto error = std::move(written).error();
    error.hint = "choose another file with -o FILE";
    return error;
  }
  if (options.json) {
    system.print(json_text({{"html", output}, {"bytes", text.size()}}));
  } else {
    system.print(output + "\n");
  }
  return exit_code::success;
}

Result<int> compare(const CompareArguments& options, System& system) {
  if (!options.output.empty() && !options.html)
    return Error{ErrorKind::bad_request, "-o names the file of --html", ""};
  const auto comparison = read_all(options, system);
  if (!comparison) return comparison.error();
  for (const auto& one : comparison->left_out)
    system.log(fmt::format("dllaunch: warning: {} is left out: {}\n", one.query, one.why));
  if (options.html) return write_page(options, *comparison, system);
  if (options.json) {
    system.print(json_text(to_json(*comparison)));
  } else {
    system.print(render_comparison(*comparison));
  }
  return exit_code::success;
}

CommandBody declare_compare(CommandOptions& app) {
  auto options = std::make_shared<CompareArguments>();
  app.add_option("RUN", options->runs,
                 "two or more: run directories, names of runs or jobs, job ids, directories of "
                 "studies and sweeps")
      ->required();
  app.add_option("--loss", options->loss, "how soon each had this loss [one that all reached]")
      ->type_name("X");
  app.add_option("--accuracy", options->accuracy, "the same of an accuracy, 0 to 1")
      ->type_name("X");
  app.add_flag("--html", options->html, "one page that needs nothing else, for any browser");
  app.add_option("-o,--output", options->output, "the page [compare.html]")->type_name("FILE");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return compare(*options, system); };
}

}  // namespace

extern const Command compare_command;
const Command compare_command{"compare", "runs side by side, and what differs", compare_examples,
                              declare_compare,
                              /*pages=*/true};

}  // namespace dllaunch
