// `dllaunch explain`: every id that is printed anywhere is explained.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/split.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/commands/guide/explained_ids.hpp"
#include "launcher/cli/error_kinds.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/preflight/check.hpp"
#include "launcher/presubmit/finding.hpp"
#include "launcher/run/summary.hpp"
#include "launcher/slurm/refusals.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"
#include "topology/diagnosis/diagnosis.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::string explain(const std::vector<std::string>& words) {
  FakeSystem system;
  std::vector<std::string> args = {"explain"};
  args.insert(args.end(), words.begin(), words.end());
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return parsed.error().what;
  const auto code = std::get<Invocation>(*parsed).body(system);
  return code ? system.printed : code.error().what;
}

bool is_explained(const std::string& id, std::string_view kind) {
  const auto found = explain_id(id);
  return std::ranges::any_of(found, [kind](const ExplainedId& one) {
    return one.kind.starts_with(kind) && !one.meaning.empty() && !one.cause.empty();
  });
}

TEST(Explain, SaysWhatWhyAndWhatToDo) {
  EXPECT_THAT(explain({"2"}), StartsWith("2 (exit code)\n\n  The command line or a file is wrong"));
  EXPECT_THAT(explain({"2"}), HasSubstr("`dllaunch validate JOB.yaml`"));
  EXPECT_THAT(explain({"143"}), HasSubstr("stopped by SIGTERM"));
  EXPECT_THAT(explain({"a01"}), StartsWith("A01 (finding of doctor)"));
  EXPECT_THAT(explain({"Priority"}), HasSubstr("Jobs with higher priority are ahead"));
  EXPECT_THAT(explain({"memory"}), StartsWith("memory (check of a node"));
  EXPECT_EQ(explain({"mask-overlop"}), "no id 'mask-overlop'; did you mean 'mask-overlap'?");
  EXPECT_EQ(explain({"66"}), "no id '66'");
  EXPECT_EQ(explain({"999999999999999999999"}), "no id '999999999999999999999'");
}

TEST(Explain, KnowsWhatSlurmSays) {
  EXPECT_THAT(explain({"sbatch: error: Batch job submission failed: Invalid qos specification"}),
              StartsWith("Invalid qos specification (Slurm refuses a job)\n\n  The QOS does not"));
  EXPECT_THAT(explain({"Invalid", "qos", "specification"}), HasSubstr("`sacctmgr show assoc"));
  EXPECT_THAT(explain({"Requested nodes are busy"}), HasSubstr("Leave out --immediate"));
  EXPECT_THAT(explain({"Reservation"}), testing::AllOf(HasSubstr("reservation (check before"),
                                                       HasSubstr("Reservation (Slurm's reason")));
  for (const SlurmRefusal& one : slurm_refusals()) {
    const auto text = explain({std::string(one.says)});
    EXPECT_THAT(text, StartsWith(std::string(one.says) + " (Slurm refuses a job)"));
  }
}

TEST(Explain, ListsEveryIdInEightyColumns) {
  const std::string all = explain({});
  for (const ExplainedId& one : explained_ids()) EXPECT_THAT(all, HasSubstr("  " + one.id));
  std::set<std::string_view> listed;
  for (const std::string_view line : split_lines(all)) {
    const std::string_view id = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(id.empty() || listed.insert(id).second) << id << " is listed twice";
  }
  std::vector<std::string> texts = {all};
  for (const ExplainedId& one : explained_ids()) texts.push_back(explain({one.id}));
  for (const std::string& text : texts) {
    for (const std::string_view line : split_lines(text)) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > 0; })) << "LANG=C: " << text;
  }
}

/// scripts/mkdocs_hooks.py makes docs/reference/ids.md of them.
TEST(Explain, AllExplanationsAreGolden) {
  std::string text;
  std::set<std::string> shown;
  for (const ExplainedId& one : explained_ids()) {
    if (shown.insert(one.id).second) text += explain({one.id}) + "\n";
  }
  EXPECT_TRUE(matches_golden("launcher/explained-ids.txt", text));
}

TEST(Explain, KnowsEveryIdOfEveryTable) {
  for (const lint::Rule& rule : lint::rules())
    EXPECT_TRUE(is_explained(std::string(rule.id), "lint rule")) << rule.id;
  for (const RuleName& rule : rule_names())
    EXPECT_TRUE(is_explained(std::string(rule.id), "finding of doctor")) << rule.id;
  for (const PreflightCheck* check : preflight_checks())
    EXPECT_TRUE(is_explained(std::string(check->name), "check of a node")) << check->name;
  for (const Explanation& check : queue_checks())
    EXPECT_TRUE(is_explained(std::string(check.id), "check before")) << check.id;
  for (const ErrorKind kind : {ErrorKind::bad_request, ErrorKind::unsatisfiable,
                               ErrorKind::unavailable, ErrorKind::timeout})
    EXPECT_TRUE(is_explained(std::string(to_string(kind)), "kind of error"));
  for (std::size_t i = 0; i < std::size(run_status_names); ++i) {
    EXPECT_TRUE(is_explained(std::string(run_status_names[i]), "end of a run"))
        << run_status_names[i];
  }
  std::set<std::pair<std::string_view, std::string>> twice;
  for (const ExplainedId& one : explained_ids())
    EXPECT_TRUE(twice.insert({one.kind, one.id}).second) << one.id;
}

/// Constants of exit_code.hpp.
TEST(Explain, KnowsEveryExitCode) {
  std::ifstream in(std::string(DLLAUNCH_SOURCE_DIR) + "/launcher/base/exit_code.hpp");
  const std::regex constant(R"(^constexpr int \w+ = (\d+);)");
  int seen = 0;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, constant)) continue;
    ++seen;
    EXPECT_TRUE(is_explained(match[1], "exit code")) << line;
  }
  EXPECT_GE(seen, 6);
}

/// Expected output of lint, as users see it.
TEST(Explain, KnowsEveryIdInBrackets) {
  const std::regex bracket(R"(\[([a-z0-9-]+)\]$)");
  std::set<std::string> printed;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(DLLAUNCH_SOURCE_DIR) /
                                                            "tests/golden/launcher/lint")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, bracket)) printed.insert(match[1]);
    }
  }
  EXPECT_GE(printed.size(), lint::rules().size() / 2);
  for (const std::string& id : printed) EXPECT_FALSE(explain_id(id).empty()) << id;
}

}  // namespace
}  // namespace dllaunch
