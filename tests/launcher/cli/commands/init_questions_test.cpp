// The questions of `dllaunch init`, answered at a real terminal.
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string program = DLLAUNCH_BIN_DIR "/dllaunch";
constexpr const char* ctrl_c = "\x03";
constexpr const char* ctrl_d = "\x04";

/// `dllaunch init` at a pseudo-terminal, in `folder`. The cluster has no Slurm.
class Terminal {
 public:
  explicit Terminal(const std::string& folder, const std::vector<std::string>& variables = {},
                    unsigned short columns = 80) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    if (chdir(folder.c_str()) != 0) _exit(99);
    setenv("PATH", "/nowhere", 1);
    std::signal(SIGINT, SIG_DFL);  // a test in the background inherits that it is ignored
    for (std::string variable : variables) {
      const auto equals = variable.find('=');
      setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
    }
    execl(program.c_str(), program.c_str(), "init", nullptr);
    _exit(99);
  }
  ~Terminal() {
    if (child_ > 0) exit_code();
    if (terminal_ >= 0) close(terminal_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Types `keys` once the question has come. Without the question: a failure.
  void answer(const std::string& question, const std::string& keys) {
    while (seen_.size() == answered_ || !seen_.ends_with(question))
      if (!read_more()) FAIL() << "no \"" << question << "\" in:\n" << seen_;
    answered_ = seen_.size();
    ASSERT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  /// Once it has ended; 128+n after signal n: SIGKILL if it waits for more.
  int exit_code() {
    while (read_more()) continue;
    kill(child_, SIGKILL);  // nothing, once it has ended: its status waits
    int status = -1;
    waitpid(std::exchange(child_, -1), &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  /// All that stood on the screen, with the keys' echo.
  const std::string& seen() const { return seen_; }

 private:
  /// False: the program has closed the terminal, or says nothing for a minute.
  bool read_more() {
    pollfd ready{.fd = terminal_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 60'000) != 1) return false;
    std::array<char, 4096> piece;
    const auto size = read(terminal_, piece.data(), piece.size());
    if (size <= 0) return false;
    seen_.append(piece.data(), static_cast<std::size_t>(size));
    std::erase(seen_, '\r');
    return true;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
  std::string seen_;
  std::size_t answered_ = 0;  // the part of it before the last answer
};

class InitQuestions : public testing::Test {
 protected:
  InitQuestions() { std::ofstream(folder_.path() + "/train.py") << "import torch\n"; }

  std::string file(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() + "/" + name).rdbuf();
    return text.str();
  }

  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }

  TemporaryFolder folder_;
};

constexpr const char* which_program = "Program to run (empty: the built-in trainer): ";

TEST_F(InitQuestions, AreAskedAgainWithTheReasonUntilTheAnswerIsValid) {
  Terminal terminal(folder_.path());
  terminal.answer(which_program, "tr_ain.py\n");
  terminal.answer(which_program, "train.py\n");
  terminal.answer("Framework [pytorch]: ", "torch\n");
  terminal.answer("Framework [pytorch]: ", "jax\n");
  terminal.answer("Nodes [1]: ", "0\n");
  terminal.answer("Nodes [1]: ", "two\n");
  terminal.answer("Nodes [1]: ", "2\n");
  EXPECT_EQ(terminal.exit_code(), 0);
  EXPECT_EQ(terminal.seen(),
            "Program to run (empty: the built-in trainer): tr_ain.py\n"
            "  cannot read tr_ain.py: No such file or directory\n"
            "Program to run (empty: the built-in trainer): train.py\n"
            "Framework [pytorch]: torch\n"
            "  it is one of none, pytorch, tensorflow, horovod, jax, deepspeed, mpi\n"
            "Framework [pytorch]: jax\n"
            "Nodes [1]: 0\n  it is a whole number from 1 on\n"
            "Nodes [1]: two\n  it is a whole number from 1 on\n"
            "Nodes [1]: 2\n"
            "train.yaml: written\nnext: dllaunch plan --check train.yaml\n");
  EXPECT_THAT(file("train.yaml"), HasSubstr("  nodes: 2\n"));
  EXPECT_THAT(file("train.yaml"), HasSubstr("framework: jax\n"));
}

TEST_F(InitQuestions, EnterTakesTheDefault) {
  Terminal terminal(folder_.path());
  terminal.answer(which_program, "train.py\n");
  terminal.answer("Framework [pytorch]: ", "\n");
  terminal.answer("Nodes [1]: ", "\n");
  EXPECT_EQ(terminal.exit_code(), 0);
  EXPECT_THAT(file("train.yaml"), HasSubstr("  nodes: 1\n"));
  EXPECT_THAT(file("train.yaml"), HasSubstr("framework: pytorch\n"));

  Terminal again(folder_.path());
  again.answer(which_program, "\n");
  again.answer("Nodes [1]: ", "\n");
  EXPECT_EQ(again.exit_code(), 0);
  EXPECT_THAT(file("job.yaml"), HasSubstr("model: cnn"));
}

TEST_F(InitQuestions, AnSbatchScriptIsConverted) {
  std::ofstream(folder_.path() + "/job.sh")
      << "#!/bin/bash\n#SBATCH --nodes=3\nsrun python train.py\n";
  Terminal terminal(folder_.path());
  terminal.answer(which_program, "job.sh\n");
  EXPECT_EQ(terminal.exit_code(), 0) << "it answers the other questions";
  EXPECT_THAT(file("job.yaml"), HasSubstr("  nodes: 3\n"));
}

/// At each question: nothing is written, not even an empty file.
TEST_F(InitQuestions, LeaveNothingWhenTheyAreNotAnswered) {
  for (const auto& [key, code] : {std::pair{ctrl_c, 128 + SIGINT}, std::pair{ctrl_d, 2}}) {
    for (int answered = 0; answered < 3; ++answered) {
      Terminal terminal(folder_.path());
      terminal.answer(which_program, answered > 0 ? "train.py\n" : key);
      if (answered > 0) terminal.answer("Framework [pytorch]: ", answered > 1 ? "\n" : key);
      if (answered > 1) terminal.answer("Nodes [1]: ", key);
      EXPECT_EQ(terminal.exit_code(), code) << answered << terminal.seen();
      const bool said =
          terminal.seen().find(" the input ended before the answer: nothing is written\n") !=
          std::string::npos;
      EXPECT_EQ(said, key == ctrl_d) << terminal.seen();
      EXPECT_EQ(files(), 1) << "only train.py";
    }
  }
}

/// No colour and no control: the same on a narrow or dumb terminal and without UTF-8.
TEST_F(InitQuestions, ArePlainTextOnAnyTerminal) {
  for (const auto& variables : {std::vector<std::string>{"TERM=dumb"},
                                {"TERM=xterm-256color", "LC_ALL=C.UTF-8"},
                                {"TERM=", "LANG=C", "LC_ALL=C"}}) {
    Terminal terminal(folder_.path(), variables, 20);
    terminal.answer(which_program, "nö\n");
    terminal.answer(which_program, "\n");
    terminal.answer("Nodes [1]: ", "\n");
    EXPECT_EQ(terminal.exit_code(), 0);
    EXPECT_EQ(terminal.seen(),
              "Program to run (empty: the built-in trainer): nö\n"
              "  cannot read nö: No such file or directory\n"
              "Program to run (empty: the built-in trainer): \n"
              "Nodes [1]: \n"
              "job.yaml: written\nnext: dllaunch plan --check job.yaml\n");
    fs::remove(folder_.path() + "/job.yaml");
  }
}

TEST_F(InitQuestions, AreNotAskedWithoutATerminal) {
  const auto output =
      PosixSystem(Console{}).run({program, "init", "-o", folder_.path() + "/a.yaml"}, 60s);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 0) << output->err;
  EXPECT_EQ(output->err.find("Program to run"), std::string::npos) << output->err;
  EXPECT_THAT(file("a.yaml"), HasSubstr("model: cnn"));
}

}  // namespace
}  // namespace dllaunch
