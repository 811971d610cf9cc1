// The real dllaunch, started as a user starts it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "launcher/cli/command_line.hpp"
#include "launcher/os/posix_system.hpp"
#include "support/json.hpp"
#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Program : public testing::Test {
 protected:
  Program() {
    folder_ = testing::TempDir() + "program_" + std::to_string(getpid());
    fs::create_directories(folder_);
  }
  ~Program() override { fs::remove_all(folder_); }

  CommandOutput call(std::vector<std::string> args) {
    args.insert(args.begin(), program_);
    auto output = system_.run(args, 60s);
    EXPECT_TRUE(output);
    return output ? *std::move(output) : CommandOutput{.exit_code = -1, .out = "", .err = ""};
  }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  PosixSystem system_{Console{}};
  std::string program_ = std::string(DLLAUNCH_BIN_DIR) + "/dllaunch";
  std::string folder_;
};

TEST_F(Program, PutsResultsOnStdoutAndErrorsOnStderr) {
  const auto help = call({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.out, render_help(command_groups()));
  EXPECT_EQ(help.err, "");

  const auto wrong = call({"validat", "x"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_TRUE(wrong.err.starts_with(
      "dllaunch: unknown command 'validat'; did you mean 'validate'?\n  try: one of: "))
      << wrong.err;
}

TEST_F(Program, NamesTheKindOfErrorWithDashV) {
  const auto missing = folder_ + "/none.yaml";
  EXPECT_TRUE(call({"validate", "-v", missing})
                  .err.ends_with("\n  explain: dllaunch explain bad_request\n"));
  EXPECT_EQ(call({"validate", missing}).err.find("explain:"), std::string::npos);
}

TEST_F(Program, ExitsWithTwoWhenTheRequestIsWrong) {
  EXPECT_EQ(call({}).exit_code, 2);
  EXPECT_EQ(call({"no-such-file.yaml"}).exit_code, 2);
  EXPECT_EQ(call({"validate"}).exit_code, 2);
  EXPECT_EQ(call({"validate", "--nonsense"}).exit_code, 2);
  EXPECT_EQ(call({"validate", "no-such-file.yaml"}).exit_code, 2);
  EXPECT_EQ(call({"validate", folder_}).exit_code, 2);
  EXPECT_EQ(call({"validate", file("empty.yaml", "")}).exit_code, 2);
  EXPECT_EQ(call({"validate", file("bad.yaml", "name: a\n")}).exit_code, 2);
  EXPECT_EQ(call({"validate", "--json", file("bad.yaml", "name: a\n")}).exit_code, 2);
  EXPECT_EQ(call({"validate", "/dev/zero"}).exit_code, 2);
}

TEST_F(Program, MakesDataAndPrintsItsLineAlone) {
  const std::string to = folder_ + "/made";
  const auto made = call({"data", "make", "synthetic", "--images", "20", "--to", to, "-q"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "dataset: {kind: npy, path: " + to + ", classes: 10}\n");
  EXPECT_EQ(made.err, "");
  for (const auto& wrong : {std::vector<std::string>{"data", "get", "mnist", "--images", "3"},
                            {"data", "make", "synthetic", "--from", "file:///x"}}) {
    const auto refused = call(wrong);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_TRUE(refused.err.find(" of data ") != std::string::npos) << refused.err;
  }
}

TEST_F(Program, ExitsWithZeroWhenAllIsWell) {
  const auto good = file("good job.yaml", "name: a\nrun: hostname\n");
  EXPECT_EQ(call({"validate", good}).exit_code, 0);
  EXPECT_EQ(call({"-q", "validate", good}).out, good + ": ok\n");
  EXPECT_EQ(call({"--version"}).exit_code, 0);
}

TEST_F(Program, NamesTheFolderThatIsNoJobFile) {
  EXPECT_EQ(call({"validate", folder_}).err,
            "dllaunch: cannot read " + folder_ +
                ": Is a directory\n  try: give the path of a job file\n");
}

TEST_F(Program, ColoursOnlyOnRequestOrOnATerminal) {
  const auto bad = file("bad.yaml", "name: a\n");
  EXPECT_EQ(call({"validate", bad}).err.find('\033'), std::string::npos);
  EXPECT_NE(call({"--color=always", "validate", bad}).err.find('\033'), std::string::npos);
  EXPECT_NE(call({"validate", bad, "--color", "always"}).err.find('\033'), std::string::npos);
}

/// What others wrote: of a run, of its files, of its logs, of a script, on the command line.
TEST_F(Program, ForeignTextDoesNotCommandTheTerminal) {
  const std::string evil = "\x1b]0;owned\x07\x1b[8m \u009b2J \u202etxt.exe\u2066\x7f\nroot ok";
  const auto json = [](const std::string& text) { return Json(text).dump(); };
  const auto run = folder_ + "/runs/ev\x1b[8mil\u202e";
  fs::create_directories(run + "/out");
  std::ofstream(run + "/plan.json")
      << R"({"name": )" << json(evil) << R"(, "launcher": "local", "nodes": 1})";
  std::ofstream(run + "/summary.json") << R"({"status": )" << json(evil) << R"(, "reason": )"
                                       << json(evil) << R"(, "advice": )" << json(evil) << "}";
  std::ofstream(run + "/supervisor.jsonl")
      << R"({"time": 9e9, "event": "decision", "job": "", "next": "stop", "reason": )" << json(evil)
      << "}\n";
  std::ofstream(run + "/events.jsonl")
      << R"({"time": 9e9, "event": "restart", "reason": )" << json(evil) << "}\n"
      << R"({"time": 9e9, "event": "ranks", "notes": [)" << json(evil) << "]}\n";
  std::ofstream(run + "/out/rank-0000-\x1b[8m\u202e.log") << "last \u009b2J\u202e \x1b]0;x\x07\n";
  const auto script =
      file("evil.sbatch", "#!/bin/bash\n#SBATCH --\x1b[8m\u202e=1\nsrun " + evil + "\n");
  const auto job = file("evil.yaml", "na\u202e\u009bme: a\nrun: hostname\n");

  const std::vector<std::vector<std::string>> commands = {{"ps"},
                                                          {"ps", "--json"},
                                                          {"status", run},
                                                          {"status", "--json", run},
                                                          {"report", run},
                                                          {"report", "--json", run},
                                                          {"logs", run},
                                                          {"cancel", run},
                                                          {"lint", script},
                                                          {"lint", "--json", script},
                                                          {"validate", job},
                                                          {"validate", "--json", job},
                                                          {"plan", job},
                                                          {"status", evil},
                                                          {evil},
                                                          {"validate", evil},
                                                          {"doctor", run},
                                                          {"info", evil}};
  for (auto command : commands) {
    const bool is_json = command.size() > 1 && command[1] == "--json";
    for (const bool color : {false, true}) {
      std::vector<std::string> argv = {"env", "-C", folder_, "XDG_STATE_HOME=" + folder_, program_};
      if (color) argv.emplace_back("--color=always");
      argv.insert(argv.end(), command.begin(), command.end());
      const auto output = system_.run(argv, 60s);
      ASSERT_TRUE(output);
      const auto text = output->out + output->err;
      EXPECT_NE(text, "");
      for (const char* obeyed :
           {"\x1b]", "\x1b[8m", "\x07", "\u009b", "\u202e", "\u2066", "\x7f"}) {
        EXPECT_EQ(text.find(obeyed), std::string::npos) << command[0] << ": " << text;
      }
      EXPECT_TRUE(color || text.find('\x1b') == std::string::npos) << command[0] << ": " << text;
      EXPECT_TRUE(!is_json || Json::accept(output->out)) << output->out;
    }
  }
  const auto status = call({"status", "--json", run});
  EXPECT_EQ(Json::parse(status.out)["name"], evil) << "JSON keeps its meaning";
  EXPECT_EQ(call({"status", run}).out.find("\nroot ok"), std::string::npos) << "no line of its own";
}

TEST_F(Program, AScriptIntoAFileKeepsItsBytes) {
  const auto example = std::string(DLLAUNCH_SOURCE_DIR) + "/examples/lumi-g.yaml";
  const std::string setup = "echo '\u200f\u05e9\u05dc\u05d5\u05dd'";
  const auto script = call({"script", example, "--set", "environment.setup=" + setup});
  EXPECT_EQ(script.exit_code, 0) << script.err;
  EXPECT_NE(script.out.find(setup), std::string::npos) << script.out;
  const auto dos = file("dos.sbatch", "#!/bin/bash\r\n#SBATCH -n 1\r\nsrun true\r\n");
  EXPECT_NE(call({"lint", "--fix", dos}).out.find("-#!/bin/bash\r\n"), std::string::npos);
}

TEST_F(Program, NoticesThatItsResultGotLost) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "unavailable: /dev/full";
  const auto output = system_.run({"sh", "-c", "\"$0\" schema > /dev/full", program_}, 60s);
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(output->err, "dllaunch: cannot write the result: No space left on device\n");
}

TEST_F(Program, RunsWithoutStandardStreams) {
  const auto output = system_.run({"sh", "-c", "\"$0\" --version <&- 2>&-", program_}, 60s);
  EXPECT_EQ(output->exit_code, 0);
}

/// A login node has no GPU driver, and `--help` must not wait for a library it does not need.
TEST_F(Program, LinksNeitherMpiNorAVendorLibrary) {
  const auto linked = system_.run({"ldd", program_}, 60s);
  ASSERT_TRUE(linked);
  for (const char* banned :
       {"libmpi", "libcuda", "libnvidia", "libnccl", "libcudnn", "libamdhip", "libhsa", "librccl",
        "librocm", "libdnnl", "libopen-", "libsqlite", "libmicrohttpd", "libgnutls", "not found"}) {
    EXPECT_EQ(linked->out.find(banned), std::string::npos) << banned << "\n" << linked->out;
  }
}

TEST_F(Program, AnswersHelpAtOnce) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator is slow";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes longer to start than the program";
#endif
  const auto fastest = [this](const std::vector<std::string>& command) {
    auto least = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 10; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(system_.run(command, 60s));
      least = std::min(least, std::chrono::steady_clock::now() - begin);
    }
    return least;
  };
  // Both start in single-digit milliseconds on a quiet machine; Python takes some ten times that.
  EXPECT_LT(fastest({program_, "--help"}), 10 * fastest({"bash", "-c", "true"}));
}

TEST_F(Program, ARankMakesItsFoldersOnTheNode) {
  const std::string caches = folder_ + "/caches";
  file("plan.json", R"({"binding": {"policy": "none"}, "node_folders": {"CACHE": ")" + caches +
                        R"(/{user}-{job}", "GIVEN": "/proc/none/{user}"}})");
  const auto rank = call({"exec", "--no-log", "--run-dir", folder_, "--rendezvous-seconds", "0",
                          "--", "sh", "-c", "echo $CACHE; test -d $CACHE; echo $? ${GIVEN-unset}"});
  EXPECT_EQ(rank.exit_code, 0) << rank.err;
  EXPECT_TRUE(rank.out.starts_with(caches + "/")) << rank.out;
  EXPECT_TRUE(rank.out.ends_with("\n0 unset\n")) << rank.out;
  EXPECT_NE(rank.err.find("GIVEN is not set: folder /proc/none/"), std::string::npos) << rank.err;
}

TEST_F(Program, AnExampleForAClusterPlansAnywhere) {
  const auto example = std::string(DLLAUNCH_SOURCE_DIR) + "/examples/lumi-g.yaml";
  const auto plan = call({"plan", example, "--json"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_NE(plan.out.find("\"map_cpu\": \"map_cpu:49,57,17,25,1,9,33,41\""), std::string::npos);
  EXPECT_EQ(call({"script", example}).exit_code, 0);
  EXPECT_EQ(call({"validate", example}).exit_code, 0);
  EXPECT_EQ(call({"run", example}).exit_code, 3) << "LUMI is not here";
}

}  // namespace
}  // namespace dllaunch
