// The documentation's console blocks, run: each command prints what its page shows.
//
// A page is run in its own folder, top to bottom: ```yaml title="NAME" writes that file, or must be
// what a command has written there; ```console runs the lines after "$ " and compares what they
// print. "..." stands for any text, as a line of its own for any lines, or none. After
// "<!-- numbers vary -->" numbers match any number. "<!-- $ COMMAND -->" runs without being shown.
// The page's folder is /home/me. A page with "<!-- runs on: slurm -->" runs on the login node of a
// test cluster, with the options of `cluster up` that follow "slurm". A page with
// "<!-- needs: COMMAND -->" is skipped where that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>

#include "launcher/base/shell_quote.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const fs::path source = DLLAUNCH_SOURCE_DIR;

/// A file to write or a command to run.
struct Action {
  std::string file;
  std::string command;
  std::string text;  // of the file; what the command prints
  bool numbers_vary = false;
  int line = 0;
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Page {
  std::optional<std::vector<std::string>> cluster;  // options of the cluster it runs on
  std::string needs;                                // the command that tells whether it can run
  std::vector<Action> actions;
};

/// The cluster that a page asks for.
std::optional<std::vector<std::string>> cluster_of(const std::string& text) {
  static const std::regex mark("<!-- runs on: slurm ?(.*) -->");
  std::smatch match;
  if (!std::regex_search(text, match, mark)) return std::nullopt;
  std::istringstream words(match[1].length() > 0 ? match[1].str() : "--nodes 2 --gpus 4 --cpus 8");
  return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
}

void add_console_line(Page& page, const std::string& line, bool numbers_vary, int number) {
  if (line.starts_with("$ ")) {
    page.actions.push_back({"", line.substr(2), "", numbers_vary, number});
  } else if (!page.actions.empty()) {
    page.actions.back().text += line + "\n";
  }
}

Page read_page(const std::string& text) {
  static const std::regex file_fence("```[a-z]+ title=\"([^\"]+)\"");
  static const std::regex hidden("<!-- \\$ (.*) -->");
  static const std::regex needs("<!-- needs: (.*) -->");
  Page page;
  page.cluster = cluster_of(text);
  if (std::smatch match; std::regex_search(text, match, needs)) page.needs = match[1];
  enum class Inside { prose, file, console, other } inside = Inside::prose;
  bool numbers_vary = false;
  int number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (inside != Inside::prose) {
      if (line == "```") {
        inside = Inside::prose;
        numbers_vary = false;
      } else if (inside == Inside::console) {
        add_console_line(page, line, numbers_vary, number);
      } else if (inside == Inside::file) {
        page.actions.back().text += line + "\n";
      }
    } else if (line == "<!-- numbers vary -->") {
      numbers_vary = true;
    } else if (std::regex_match(line, match, hidden)) {
      page.actions.push_back({"", match[1], "...", false, number});
    } else if (line == "```console") {
      inside = Inside::console;
    } else if (std::regex_match(line, match, file_fence)) {
      inside = Inside::file;
      page.actions.push_back({match[1], "", "", false, number});
    } else if (line.starts_with("```")) {
      inside = Inside::other;
    }
  }
  return page;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// Puts neighbouring lines of several ranks, "[n1:0] ...", into the order of the ranks.
std::string in_order_of_ranks(const std::string& text) {
  const auto rank_of = [](const std::string& line) { return line.substr(0, line.find(']')); };
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (auto at = lines.begin(); at != lines.end();) {
    const auto end = std::find_if(at, lines.end(),
                                  [](const std::string& line) { return !line.starts_with('['); });
    std::stable_sort(at, end,
                     [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
    at = end == lines.end() ? end : end + 1;
  }
  std::string ordered;
  for (const std::string& line : lines) ordered += line + "\n";
  return ordered;
}

/// Returns the text without what differs from run to run: lines that depend on the time a run
/// takes, the order of the ranks' lines, the random part of the run's name, and a warning that is
/// true of this test's folder only.
std::string comparable(std::string text, bool numbers_vary) {
  static const std::regex passing(
      "\n([^\n]*, ETA [^\n]*|job [0-9]+: [^\n]*|rank [0-9]+ on [^\n]*|"
      "[^\n]* lies? in a folder that is usually local to each machine[^\n]*\n[^\n]*)(?=\n|$)");
  static const std::regex quoted_path("'(/home/me[^' ]*)'");  // a clone's path may have blanks
  static const std::regex run_id("-[0-9]{8}-[0-9]{6}-[a-z0-9]{4}");
  static const std::regex number("[0-9]+([.,:][0-9]+)*");
  static const std::regex blanks(" +");
  static const std::regex of_open_mpi(
      "\n\\[[^\n\\]]*\\]\\[\\[[0-9]+,[0-9]+\\],[0-9]+\\][^\n]*(?=\n|$)");
  text = std::regex_replace("\n" + text, passing, "");
  text = std::regex_replace(text, of_open_mpi, "");
  if (text.starts_with('\n')) text.erase(0, 1);
  text = in_order_of_ranks(std::regex_replace(text, quoted_path, "$1"));
  text = std::regex_replace(text, run_id, "-RUN");
  if (numbers_vary) {
    // A column is as wide as its numbers.
    text = std::regex_replace(std::regex_replace(text, number, "0"), blanks, " ");
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// True if `text` is `shown`, in which "..." stands for any text, and a line of it for any lines.
bool matches(std::string shown, std::string text) {
  constexpr std::string_view any = "...";
  static const std::regex any_lines("(^|\n)\\.\\.\\.\n");
  shown = std::regex_replace(shown + "\n", any_lines, "$1...");
  text += "\n";
  std::size_t at = 0;
  std::size_t from = 0;
  for (std::size_t end; (end = shown.find(any, from)) != std::string::npos;) {
    const std::string piece = shown.substr(from, end - from);
    const std::size_t found = text.find(piece, at);
    if (found == std::string::npos || (from == 0 && found != 0)) return false;
    at = found + piece.size();
    from = end + any.size();
  }
  const std::string last = shown.substr(from);
  if (from == 0) return text == last;
  return text.size() >= at + last.size() && text.ends_with(last);
}

std::vector<std::string> pages() {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(source / "docs")) {
    if (entry.path().extension() != ".md") continue;
    if (!read_page(text_of(entry.path())).actions.empty()) {
      found.push_back(fs::relative(entry.path(), source).string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Documentation : public testing::TestWithParam<std::string> {
 protected:
  /// Runs a command as the reader does; returns what it prints.
  std::string output_of(const std::string& command, const std::string& folder) const {
    const std::string line = "cd " + shell_quote(folder) +
                             "\nPATH=" + shell_quote(DLLAUNCH_BIN_DIR) + ":$PATH\n{ " + command +
                             "\n} 2>&1";
    auto argv = cluster_ ? cluster_->login() : std::vector<std::string>{};
    argv.insert(argv.end(), {"env", "-u", "XDG_CACHE_HOME", "-u", "XDG_STATE_HOME", "-u",
                             "XDG_CONFIG_HOME", "TERM=dumb", "HOME=" + folder, "bash", "-c", line});
    const auto output = PosixSystem(Console{}).run(argv, 120s);
    std::string printed = output ? output->out : output.error().what;
    replace_all(printed, folder, "/home/me");
    replace_all(printed, DLLAUNCH_BIN_DIR, "/home/me/bin");
    return printed;
  }

  std::unique_ptr<TestCluster> cluster_;
  TemporaryFolder here_;
};

TEST_P(Documentation, ShowsWhatTheCommandsPrint) {
  const Page page = read_page(text_of(source / GetParam()));
  std::string folder = here_.path();
  if (page.cluster) {
    cluster_ = std::make_unique<TestCluster>(*page.cluster);
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    folder = cluster_->share();
  }
  for (const char* name : {"examples", "tests"}) {
    fs::create_directory_symlink(source / name, folder + "/" + name);
  }
  const std::string why_not =
      page.needs.empty() ? "" : output_of(page.needs + " || echo cannot run here", folder);
  if (why_not.ends_with("cannot run here\n")) GTEST_SKIP() << why_not;
  for (const Action& action : page.actions) {
    const std::string path = folder + "/" + action.file;
    if (!action.file.empty() && fs::exists(path)) {
      EXPECT_EQ(text_of(path), action.text) << GetParam() << ":" << action.line;
      continue;
    }
    if (!action.file.empty()) {
      std::ofstream(path) << action.text;
      continue;
    }
    const std::string printed = output_of(action.command, folder);
    EXPECT_TRUE(matches(comparable(action.text, action.numbers_vary),
                        comparable(printed, action.numbers_vary)))
        << GetParam() << ":" << action.line << ": $ " << action.command << "\n--- the page shows\n"
        << action.text << "--- it prints\n"
        << printed;
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& page) {
  std::string name = page.param;
  for (char& letter : name) {
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Pages, Documentation, testing::ValuesIn(pages()), test_name);

/// In the checkout, as a git server shows it: scripts/mkdocs_hooks.py links the pages that only the
/// site has.
TEST(DocumentationLinks, LeadToFiles) {
  std::vector<fs::path> pages = {source / "README.md", source / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(source / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  const std::regex link(R"(\]\(([^)#\s]+))");
  for (const auto& page : pages) {
    const std::string text = text_of(page);
    for (std::sregex_iterator one(text.begin(), text.end(), link), end; one != end; ++one) {
      const std::string target = (*one)[1];
      if (target.find(':') != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / target)) << page << " links to " << target;
    }
  }
}

TEST(DocumentationDrawings, ShowWhatTheProgramsPrint) {
  const std::string scripts = (source / "scripts").string();
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{scripts + "/draw-binding", DLLAUNCH_BIN_DIR "/dllaunch",
                                 "--check"},
        std::vector<std::string>{scripts + "/draw-terminal", "--check"}}) {
    const auto drawn = PosixSystem(Console{}).run(argv, 30s);
    ASSERT_TRUE(drawn) << drawn.error().what;
    EXPECT_EQ(drawn->exit_code, 0) << drawn->err;
  }
}

TEST(DocumentationBlocks, AreCompared) {
  EXPECT_TRUE(matches("a ... c", "a b c"));
  EXPECT_TRUE(matches("a\n...\nc", "a\nb\nb\nc"));
  EXPECT_TRUE(matches("...\na\n...\nc\n...", "a\nc"));
  EXPECT_FALSE(matches("...\na\n...\nc", "a\nb"));
  EXPECT_FALSE(matches("a ... c", "a b d"));
  EXPECT_FALSE(matches("a", "a b"));
  EXPECT_FALSE(matches("b...", "a b"));
  EXPECT_EQ(comparable("ran first-20261124-192244-sy5c\n", false), "ran first-RUN");
  EXPECT_EQ(comparable("a\n[n2:2] c\n[n1:1] b\n[n2:2] a\nb\n", false),
            "a\n[n1:1] b\n[n2:2] c\n[n2:2] a\nb");
  EXPECT_EQ(comparable("12,345  images/s, 0.9 s\n", true), "0 images/s, 0 s");
  EXPECT_EQ(comparable("epoch 1: step 3/9, ETA 0:10\nend", false), "end");
  EXPECT_EQ(comparable("[vm][[56021,1],0][btl_tcp_proc.c:266:make] Unable to\nend", false), "end");
  EXPECT_EQ(comparable("job 1: waits\njob 1: runs\nat rank 0 on n1\n", false), "at rank 0 on n1");
  const Page page = read_page(
      "```yaml title=\"a.yaml\"\nname: a\n```\n```console\n$ cat a.yaml\n"
      "name: a\n```\n```sh\n$ not run\n```\n<!-- $ sync -->\n<!-- runs on: slurm --nodes 3 -->\n");
  ASSERT_EQ(page.actions.size(), 3u);
  EXPECT_EQ(page.actions[0].text, "name: a\n");
  EXPECT_EQ(page.actions[1].command, "cat a.yaml");
  EXPECT_EQ(page.actions[2].command, "sync");
  EXPECT_EQ(page.cluster, (std::vector<std::string>{"--nodes", "3"}));
}

}  // namespace
}  // namespace dllaunch
