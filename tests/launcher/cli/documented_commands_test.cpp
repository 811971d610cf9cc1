// What the documentation shows in code exists: each `dllaunch VERB --option`, also in blocks that
// no test runs and within sentences, and each file of this tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "launcher/base/split.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

const fs::path root = DLLAUNCH_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The pieces of a page that are code: lines of blocks and spans in sentences; not job files, and
/// not what a command of a console block prints.
std::vector<std::string> code_of(const std::string& page) {
  static const std::regex span("`([^`]+)`");
  std::vector<std::string> pieces;
  std::string prose;
  std::string fence;  // "```yaml" within one
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      fence = fence.empty() ? line : "";
    } else if (fence.empty() ? line.starts_with("    ")
                             : fence != "```console" || line.starts_with("$ ")) {
      if (!fence.starts_with("```yaml")) pieces.push_back(line);
    } else if (fence.empty()) {
      prose += line + (line.empty() ? "\n\n" : " ");
    }
  }
  for (std::sregex_iterator at(prose.begin(), prose.end(), span), end; at != end; ++at)
    pieces.push_back((*at)[1]);
  return pieces;
}

/// The words after each `dllaunch` of a piece, up to a shell operator, a comment or an explanation.
std::vector<std::vector<std::string>> commands_in(const std::string& code) {
  static const std::regex comment("(^| )#.*");
  static const std::regex call("(?:^|[ (`])dllaunch ((?:[^ |<>;&()`]| (?! |--(?: |$)))+)");
  const std::string shown = std::regex_replace(code, comment, "");
  std::vector<std::vector<std::string>> commands;
  for (std::sregex_iterator at(shown.begin(), shown.end(), call), end; at != end; ++at) {
    std::istringstream words((*at)[1]);
    commands.emplace_back(std::istream_iterator<std::string>(words),
                          std::istream_iterator<std::string>());
  }
  return commands;
}

bool is_known(const std::string& option, const Command* command) {
  const auto options = options_of(command);
  return std::any_of(options.begin(), options.end(), [&option](const OptionText& known) {
    return std::count(known.names.begin(), known.names.end(), option.substr(2)) != 0 ||
           std::count(known.letters.begin(), known.letters.end(), option.substr(1)) != 0;
  });
}

/// The word after a verb, if it can only be one of a few: "start" of `daemon start`.
bool is_choice(const std::string& word, const Command* command) {
  for (const OptionText& option : options_of(command)) {
    if (option.positional.empty()) continue;
    if (!std::islower(static_cast<unsigned char>(option.type_name.c_str()[0]))) return true;
    const auto choices = split_at(option.type_name, '|');
    return std::count(choices.begin(), choices.end(), word) != 0;
  }
  return true;
}

/// What is wrong with the words after `dllaunch`; "": nothing. Capitals and "..." stand for a
/// value.
std::string complaint(const std::vector<std::string>& words) {
  static const std::regex verb("[a-z]+");
  static const std::regex option("\\[?(--?[a-z][a-z-]*).*");
  const bool is_job = words[0].ends_with(".yaml");
  if (!is_job && words[0][0] != '-' && !std::regex_match(words[0], verb)) return "";
  const Command* command =
      find_command(command_groups(), is_job ? std::string_view("run") : words[0]);
  if (!command && words[0][0] != '-') return "no command " + words[0];
  for (const std::string& word : words) {
    std::smatch match;
    if (std::regex_match(word, match, option) && !is_known(match[1], command) &&
        !is_known(match[1], nullptr) && match[1] != "--help" && match[1] != "-h")
      return "no option " + match[1].str() + " of " + words[0];
  }
  if (!is_job && words.size() > 1 && std::regex_match(words[1], verb) &&
      !is_choice(words[1], command))
    return "no " + words[1] + " of " + words[0];
  return "";
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {root / "README.md", root / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

TEST(DocumentedCommands, Exist) {
  int count = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& code : code_of(text_of(page))) {
      for (const auto& words : commands_in(code)) {
        ++count;
        EXPECT_EQ(complaint(words), "") << page << ": " << code;
      }
    }
  }
  EXPECT_GT(count, 150);
}

TEST(DocumentedCommands, AreJudgedByTheTableOfCommands) {
  const auto judge = [](const std::string& code) {
    std::string complaints;
    for (const auto& words : commands_in(code)) complaints += complaint(words) + ";";
    return complaints;
  };
  EXPECT_EQ(judge("dllaunch plan a.yaml --check | dllaunch ps --all  # dllaunch nothing"), ";;");
  EXPECT_EQ(judge("srun $(dllaunch bind --format srun) ./a --b"), ";");
  EXPECT_EQ(judge("salloc -N 2 dllaunch exec --framework jax -- ./a --b"), ";");
  EXPECT_EQ(judge("dllaunch doctor --pid 4711   --not-an-option of it"), ";");
  EXPECT_EQ(judge("dllaunch logs RUN [-f] [--rank N] [--ranks N]"), "no option --ranks of logs;");
  EXPECT_EQ(judge("dllaunch a.yaml --fast"), "no option --fast of a.yaml;");
  EXPECT_EQ(judge("dllaunch lunch"), "no command lunch;");
  EXPECT_EQ(judge("dllaunch daemon pause"), "no pause of daemon;");
  EXPECT_EQ(
      code_of("A `b\nc`.\n\n    d\n```yaml\ne\n```\n```sh\nf\n```\n```console\n$ g\nh\n```\n"),
      (std::vector<std::string>{"    d", "f", "$ g", "b c"}));
}

/// A page's job files, each with what a part of one lacks: its name, and what it starts.
std::vector<std::string> job_files_in(const std::string& page) {
  static const std::regex block("\n```yaml[^\n]*\n([^`]*)\n```");
  static const std::regex name("(^|\n)name:");
  static const std::regex start("(^|\n)(run|train):");
  std::vector<std::string> jobs;
  for (std::sregex_iterator at(page.begin(), page.end(), block), end; at != end; ++at) {
    std::string job = (*at)[1].str() + "\n";
    const bool profile = job.find("node_types:") != std::string::npos;
    const bool failures_of_profile = job.starts_with("failures:");
    if (profile || failures_of_profile) continue;
    if (!std::regex_search(job, name)) job = "name: part\n" + job;
    if (!std::regex_search(job, start)) job += "run: echo\n";
    jobs.push_back(job);
  }
  return jobs;
}

TEST(DocumentedJobFiles, AreValid) {
  std::size_t count = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& job : job_files_in(text_of(page))) {
      ++count;
      const auto parsed = parse_job(job, page.filename(), {});
      EXPECT_TRUE(parsed.job) << page << "\n" << render(parsed.problems, false);
    }
  }
  EXPECT_GT(count, 20u);
}

/// Files of this tree as pages name them; of `launcher/NAME.cpp` only the folder.
TEST(DocumentedFiles, Exist) {
  static const std::regex file(
      "(?:^|[ \"'(=])(?:\\./)?((?:scripts|bench|tests|examples|templates|docs|launcher|trainer|"
      "runtime|topology|support)/[a-z0-9_./-]*[a-z0-9_])(?![A-Za-z0-9_*{.-])");
  static const std::regex program("build/[a-z]+/bin/([a-z_]+)");
  std::string targets;
  for (const char* folder : {"bench", "launcher", "runtime", "tests", "trainer"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().filename() == "CMakeLists.txt") targets += text_of(entry.path()) + " ";
  }
  int count = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& code : code_of(text_of(page))) {
      for (std::sregex_iterator at(code.begin(), code.end(), file), end; at != end; ++at) {
        ++count;
        EXPECT_TRUE(fs::exists(root / (*at)[1].str())) << page << ": " << code;
      }
      for (std::sregex_iterator at(code.begin(), code.end(), program), end; at != end; ++at) {
        ++count;
        const std::regex target("\\(" + (*at)[1].str() + "\\s");
        EXPECT_TRUE(std::regex_search(targets, target)) << page << ": " << code;
      }
    }
  }
  EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace dllaunch
