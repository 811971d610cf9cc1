// Scripts of tests/fixtures/lint and what is found in them. Rule ID must report rules/ID.sbatch and
// must accept rules/ID-not.sbatch, which other rules may report; clean/ holds scripts without any
// finding. A last line "# lint --topology FILE" names the node.
#include "launcher/lint/lint.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "launcher/lint/unified_diff.hpp"
#include "launcher/network/read_network.hpp"
#include "launcher/os/posix_system.hpp"
#include "support/json.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch::lint {
namespace {

namespace fs = std::filesystem;
const fs::path root = DLLAUNCH_SOURCE_DIR;

struct Fixture {
  std::string name;  // "rules/mask-empty"
  std::string text;
  Surroundings around;
};

std::string read_bytes(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Surroundings surroundings_of(const std::string& text) {
  Surroundings around;
  around.is_folder = [](const std::string& path) {
    return path == "logs" || path == "/" || path == "/scratch" || path.starts_with("/scratch/me");
  };
  const auto named = [&text](const std::string& mark) {
    const std::size_t at = text.rfind(mark);
    if (at == std::string::npos) return std::string();
    return text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
  };
  around.host_suffix = named("# lint --host-suffix ");
  if (const auto file = named("# lint --network "); !file.empty()) {
    auto network = read_network(read_bytes(root / file), file);
    EXPECT_TRUE(network) << file;
    if (network) around.network = *std::move(network);
  }
  const std::string file = named("# lint --topology ");
  if (file.empty()) return around;
  auto topology = load_topology((root / file).string());
  EXPECT_TRUE(topology) << file;
  if (topology) {
    around.topology = *std::move(topology);
    around.topology->source = "file " + file;
  }
  return around;
}

std::vector<Fixture> fixtures() {
  std::vector<Fixture> found;
  const fs::path folder = root / "tests/fixtures/lint";
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".sbatch") continue;
    Fixture fixture;
    fixture.name = fs::relative(entry.path(), folder).replace_extension().generic_string();
    fixture.text = read_bytes(entry.path());
    fixture.around = surroundings_of(fixture.text);
    found.push_back(std::move(fixture));
  }
  std::sort(found.begin(), found.end(),
            [](const Fixture& a, const Fixture& b) { return a.name < b.name; });
  return found;
}

bool has(const std::vector<Finding>& findings, std::string_view id) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.id == id; });
}

TEST(Lint, EveryFixtureGivesItsFindings) {
  for (const Fixture& fixture : fixtures()) {
    const std::string shown =
        render_findings("job.sbatch", fixture.text, lint(fixture.text, fixture.around), false);
    EXPECT_TRUE(matches_golden("launcher/lint/" + fixture.name + ".txt", shown)) << fixture.name;
  }
}

TEST(Lint, EveryRuleReportsItsScriptAndAcceptsTheOther) {
  for (const Rule& rule : rules()) {
    const std::string id(rule.id);
    for (const std::string& name : {id, id + "-not"}) {
      const fs::path path = root / "tests/fixtures/lint/rules" / (name + ".sbatch");
      ASSERT_TRUE(fs::exists(path)) << path;
      const std::string text = read_bytes(path);
      EXPECT_EQ(has(lint(text, surroundings_of(text)), id), name == id) << path;
    }
  }
}

TEST(Lint, RulesHaveNamesOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_TRUE(rule.summary.ends_with('.')) << rule.id;
  }
}

TEST(Lint, AMessageAboutAMaskSaysMask) {
  for (const Fixture& fixture : fixtures()) {
    for (const Finding& finding : lint(fixture.text, fixture.around)) {
      if (!finding.id.starts_with("mask-")) continue;
      EXPECT_NE(finding.message.find("mask"), std::string::npos) << finding.message;
    }
  }
}

TEST(Lint, WellWrittenScriptsHaveNoFindings) {
  int count = 0;
  for (const Fixture& fixture : fixtures()) {
    if (!fixture.name.starts_with("clean/")) continue;
    ++count;
    const auto findings = lint(fixture.text, fixture.around);
    EXPECT_EQ(render_findings(fixture.name, fixture.text, findings, false), "");
  }
  EXPECT_GE(count, 4);
}

TEST(Lint, OurOwnScriptsHaveNoErrors) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(root / "tests/golden/launcher")) {
    if (entry.path().extension() != ".sbatch") continue;
    ++count;
    const std::string text = read_bytes(entry.path());
    for (const Finding& finding : lint(text, surroundings_of(text))) {
      EXPECT_EQ(finding.id, "no-time-limit") << entry.path() << ": " << finding.message;
    }
  }
  EXPECT_GE(count, 4);
}

CommandOutput run(const std::vector<std::string>& argv) {
  PosixSystem system(Console{});
  auto output = system.run(argv, std::chrono::seconds(30));
  EXPECT_TRUE(output) << argv[0];
  return output ? *output : CommandOutput{};
}

TEST(LintFix, PatchAppliesTheDiffAndNothingCorrectableIsLeft) {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/job.sbatch";
  const std::string patch = folder.path() + "/fix.diff";
  int corrected_scripts = 0;
  for (const Fixture& fixture : fixtures()) {
    SCOPED_TRACE(fixture.name);
    const std::string fixed = corrected(fixture.text, fixture.around);
    const auto left = lint(fixed, fixture.around);
    for (const Finding& finding : left) EXPECT_TRUE(finding.edits.empty()) << finding.id;
    const std::string diff = unified_diff("job.sbatch", fixture.text, fixed);
    EXPECT_EQ(diff.empty(), fixed == fixture.text);
    if (diff.empty()) continue;
    ++corrected_scripts;
    const auto before = lint(fixture.text, fixture.around);
    EXPECT_LT(left.size(), before.size());
    std::ofstream(script, std::ios::binary) << fixture.text;
    std::ofstream(patch, std::ios::binary) << diff;
    const auto output = run({"patch", "--binary", "--quiet", script, patch});
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err << diff;
    EXPECT_EQ(read_bytes(script), fixed);
    // What bash could read before, it can read after.
    std::ofstream(patch, std::ios::binary) << fixture.text;
    if (run({"bash", "-n", patch}).exit_code == 0) {
      EXPECT_EQ(run({"bash", "-n", script}).exit_code, 0) << fixed;
    }
  }
  EXPECT_GE(corrected_scripts, 15);
}

TEST(LintFix, WholeNodesReplaceNodesThatAUserShares) {
  const std::string begin = "#!/bin/bash\n#SBATCH --time=10 --exclusive";
  const std::string end = " --nodes=1\nsrun --cpu-bind=mask_cpu:0x1 a\n";
  EXPECT_EQ(corrected(begin + "=user" + end, {}), begin + end);
}

TEST(Lint, AnswersInJson) {
  const std::string text = "#!/bin/bash\n#SBATCH --time=1 --nodez=2\nsrun a\n";
  const auto document = Json::parse(findings_json("a b.sh", text, lint(text, {}), ""));
  EXPECT_EQ(document["file"], "a b.sh");
  EXPECT_EQ(document["errors"], 1);
  EXPECT_EQ(document["warnings"], 0);
  ASSERT_EQ(document["findings"].size(), 1u);
  const auto& finding = document["findings"][0];
  EXPECT_EQ(finding["id"], "directive-unknown");
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["line"], 2);
  EXPECT_EQ(finding["column"], 18);
  EXPECT_EQ(finding["fix"], "write --nodes");
}

TEST(Lint, ColoursOnlyTheWord) {
  const std::string text = "echo\n";
  const std::string plain = render_findings("a", text, lint(text, {}), false);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(render_findings("a", text, lint(text, {}), true).find("\x1b[1;31merror:\x1b[0m"),
            std::string::npos);
}

TEST(Lint, CountsColumnsInCharacters) {
  const Places places("ä\nöb\n");
  EXPECT_EQ(places.of(5).line, 2u);
  EXPECT_EQ(places.of(5).column, 2u);
  EXPECT_EQ(places.of(1000).line, 2u);
  EXPECT_EQ(Places("").of(3).column, 1u);
}

TEST(Lint, IsDocumented) {
  EXPECT_TRUE(matches_file("docs/how-to/lint.md", render_rules_markdown()));
}

/// Processor time: a busy machine is no hang.
double seconds_for(const std::string& text) {
  const std::clock_t begin = std::clock();
  const auto findings = lint(text, {});
  const auto shown = render_findings("job.sbatch", text, findings, false);
  EXPECT_LT(shown.size(), 10'000'000u);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

constexpr double patience = 1.0 * DLLAUNCH_PATIENCE;  // seconds

std::string repeated(const std::string& piece, std::size_t size) {
  std::string text = "#!/bin/bash\n";
  while (text.size() < size) text += piece;
  return text;
}

std::string honest(std::size_t size) {
  std::string piece;
  for (const Fixture& fixture : fixtures()) {
    if (fixture.name.starts_with("clean/")) piece += fixture.text;
  }
  return repeated(piece, size);
}

TEST(Lint, AMegabyteTakesLessThanASecond) {
  EXPECT_LT(seconds_for(honest(1'000'000)), patience);
}

TEST(Lint, HostileTextTakesNoLonger) {
  const std::size_t size = full_tier() ? 1'000'000 : 150'000;
  const std::vector<std::string> pieces = {"a\n",
                                           "srun --cpu-bind=mask_cpu:0x1,0x1 a\n",
                                           "#SBATCH --nodes=2\n",
                                           "#SBATCH --time=x y\n",
                                           "$(",
                                           "${a:-",
                                           "\"$(",
                                           "`a`",
                                           "if a; then\n",
                                           "if a; then A=$A; fi\n",
                                           "a && ",
                                           "a | ",
                                           "<<A ",
                                           "$(<<A)",
                                           "cat <<A\nx\nA\n",
                                           "((",
                                           "$((1+",
                                           "[[ a ",
                                           "f() { f; }; f\n",
                                           "A=$A$A\n",
                                           "A+=(a \"${A[@]}\")\n",
                                           "for i in a; do\n",
                                           "case a in a) ",
                                           "'",
                                           "\"",
                                           "\\\n",
                                           "# x\n",
                                           "export M=0x1,0x2\n",
                                           "M1=0x1,0x2 ",
                                           "srun bash -c 'srun bash -c \"",
                                           "eval \"a $b\"\n",
                                           "f() { g; g; }; g() { f; f; }; f\n",
                                           "{ ",
                                           "( ",
                                           ") ",
                                           "${a[",
                                           "MASTER_PORT=1\n",
                                           "\r\n"};
  // A command in every second byte is four times as much work as honest text is, on any machine.
  const double longest = std::max(patience, 10 * seconds_for(honest(size)));
  for (const std::string& piece : pieces) {
    EXPECT_LT(seconds_for(repeated(piece, size)), longest) << piece;
  }
}

TEST(Lint, AnyBytesAreAScript) {
  for (const std::string& text :
       {std::string(), std::string(1, '\0'), std::string("#!"), std::string("#!/bin/bash"),
        std::string("\xff\xfe"), std::string("#!/bin/bash\n\0\n", 14), std::string("\n\n\n")}) {
    const auto findings = lint(text, {});
    EXPECT_FALSE(render_findings("a", text, findings, false).empty());
  }
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (auto length = random() % 2000; length > 0; --length) text += static_cast<char>(random());
    for (const Finding& finding : lint(text, {})) EXPECT_LE(finding.at, text.size());
  }
}

}  // namespace
}  // namespace dllaunch::lint
