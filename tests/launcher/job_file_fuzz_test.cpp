// Damaged job files: whatever comes, an answer in bounded time, and every problem inside the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "launcher/base/utf8.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "launcher/job/job_file.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> corpus() {
  std::vector<fs::path> paths;
  const fs::path root = DLLAUNCH_SOURCE_DIR;
  for (const auto& folder : {root / "tests/fixtures/jobs", root / "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

  std::string mutate(std::string text, const std::string& other) {
    static const std::vector<std::string> pieces = {":",
                                                    " ",
                                                    "\n",
                                                    "\t",
                                                    "- ",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ",",
                                                    "&a ",
                                                    "*a",
                                                    "!!str ",
                                                    "!x ",
                                                    "|",
                                                    ">",
                                                    "#",
                                                    "'",
                                                    "\"",
                                                    "\\",
                                                    "? ",
                                                    "<<: ",
                                                    "---\n",
                                                    "...\n",
                                                    "%YAML 1.2\n",
                                                    "~",
                                                    "null",
                                                    "-1",
                                                    "1e999",
                                                    "0x",
                                                    "99999999999999999999",
                                                    "\xff",
                                                    "\xc3",
                                                    "ü",
                                                    "\xf0\x9f\x98\x80",
                                                    "\r",
                                                    std::string(1, '\0'),
                                                    "\x1b[31m",
                                                    "@",
                                                    "`",
                                                    "name: ",
                                                    "run: ",
                                                    "train:\n  ",
                                                    "\xef\xbb\xbf"};
    for (std::size_t i = 0; i <= below(6); ++i) {
      const std::size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, pieces[below(pieces.size())]);
          break;
        case 1:
          text.erase(at, below(8));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
          break;
        case 3:
          text.insert(at, text.substr(below(text.size() + 1), below(40)));
          break;
        default:
          text.insert(at, other.substr(below(other.size() + 1), below(60)));
      }
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

void expect_inside(const Diagnostic& problem, std::string_view text) {
  const bool marked = problem.file != "--set" && text.starts_with("\xef\xbb\xbf");
  if (marked) text.remove_prefix(3);
  const auto lines = lines_of(text);
  ASSERT_GE(problem.line, 1);
  ASSERT_LE(problem.line, static_cast<int>(lines.size()));
  const auto line = lines[static_cast<std::size_t>(problem.line) - 1];
  EXPECT_EQ(problem.source, line);
  EXPECT_GE(problem.column, 1);
  EXPECT_LE(problem.column, characters_in(line) + 1);
  EXPECT_NE(problem.message, "");
}

TEST(JobFileFuzz, EveryDamagedFileGetsAnAnswer) {
  const auto texts = corpus();
  const int rounds = full_tier() ? 200'000 : 4'000;
  Mutator mutator(20260101);
  for (int round = 0; round < rounds; ++round) {
    const std::string& other = texts[mutator.below(texts.size())];
    const std::string text = mutator.mutate(texts[mutator.below(texts.size())], other);
    const std::vector<std::string> sets = {mutator.mutate("train.epochs=3", other)};
    const auto use = std::span(sets).first(mutator.below(4) == 0 ? 1 : 0);
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + text);

    // Processor time: a busy machine is no hang.
    const std::clock_t begin = std::clock();
    const auto parsed = parse_job(text, "job.yaml", use);
    EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
    EXPECT_NE(parsed.job.has_value(), !parsed.problems.empty());
    for (const Diagnostic& problem : parsed.problems) {
      expect_inside(problem, problem.file == "--set" ? sets[0] : text);
    }
    const std::string shown = render(parsed.problems, false);
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace dllaunch
