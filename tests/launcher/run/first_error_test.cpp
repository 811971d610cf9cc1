#include "launcher/run/first_error.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

std::string error_of(std::string_view log) {
  const auto found = error_in_log(log);
  return found ? found->line : "";
}

TEST(FirstError, ATracebacksLastLine) {
  EXPECT_EQ(error_of("epoch 1\n"
                     "Traceback (most recent call last):\n"
                     "  File \"train.py\", line 3, in <module>\n"
                     "    raise ValueError(\"Connection is bad\")\n"
                     "ValueError: bad value\n"
                     "bye\n"),
            "ValueError: bad value");
  EXPECT_EQ(error_of("[rank1]: Traceback (most recent call last):\n"
                     "[rank1]:   File \"train.py\", line 3\n"
                     "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB\n"),
            "torch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB");
  EXPECT_EQ(error_of("Traceback (most recent call last):\n  File\nKeyError: 'a'\n\n"
                     "During handling of the above exception, another exception occurred:\n\n"
                     "Traceback (most recent call last):\n  File\nRuntimeError: no key\n"),
            "RuntimeError: no key");
}

TEST(FirstError, AbortsAndCrashes) {
  EXPECT_EQ(error_of("terminate called after throwing an instance of 'c10::Error'\n"
                     "  what():  CUDA error: an illegal memory access was encountered\n"
                     "Aborted (core dumped)\n"),
            "what():  CUDA error: an illegal memory access was encountered");
  EXPECT_EQ(error_of("a.out: x.c:3: main: Assertion `n > 0' failed.\n"),
            "a.out: x.c:3: main: Assertion `n > 0' failed.");
  EXPECT_EQ(error_of("MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"),
            "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD");
  EXPECT_EQ(error_of("\x1b[31mCUDA error: device-side assert\x1b[0m\n"),
            "CUDA error: device-side assert");
}

TEST(FirstError, AReportOutweighsAMentionAndAnEcho) {
  EXPECT_EQ(error_of("error: cannot read cache, going on\n"
                     "RuntimeError: Connection reset by peer\n"
                     "Segmentation fault\n"
                     "error: later\n"),
            "Segmentation fault");
  EXPECT_EQ(error_of("an error here\nanother error\n"), "an error here");
  EXPECT_EQ(error_of("all is well\n"), "");
  EXPECT_EQ(error_of("Traceback (most recent call last):\n  cut off"), "");
  EXPECT_EQ(error_of(""), "");
}

class FirstErrorOfRun : public testing::Test {
 protected:
  FirstErrorOfRun() { std::filesystem::create_directories(run_.out()); }

  /// Written `age` seconds ago.
  void write(const std::string& name, const std::string& text, int age) {
    const std::string path = run_.out() + "/" + name;
    std::ofstream(path) << text;
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(age));
  }
  std::string first(const DeadRank& dead = {}, double since_s = 0) {
    const auto found = first_error(run_, dead, since_s);
    return found ? describe(*found) : "";
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
};

TEST_F(FirstErrorOfRun, TheCauseNotTheEchoThatOthersMake) {
  write("rank-0000-n1.log", "RuntimeError: Connection closed by peer [10.0.0.2]\n", 50);
  write("rank-0003-n2.log",
        "Traceback (most recent call last):\n  File\nValueError: bad image 17\n", 20);
  EXPECT_EQ(first(), "rank 3 on n2: ValueError: bad image 17");
}

TEST_F(FirstErrorOfRun, TheEarlierOfTwoUnlessOneWasSeenDying) {
  write("rank-0000-n1.log", "CUDA error: late\n", 10);
  write("rank-0001-n1.log", "CUDA error: early\n", 30);
  EXPECT_EQ(first(), "rank 1 on n1: CUDA error: early");
  EXPECT_EQ(first({.rank = 0, .exit_code = 1}), "rank 0 on n1: CUDA error: late");
}

TEST_F(FirstErrorOfRun, AnEarlierRunsErrorsAreNotThisOnes) {
  write("rank-0000-n1.log", "CUDA error: yesterday\n", 86400);
  const double now = static_cast<double>(std::time(nullptr));
  EXPECT_EQ(first({}, now - 100), "");
  EXPECT_NE(first({}, 0), "");
}

TEST_F(FirstErrorOfRun, ALogOfANodeHasItsRanks) {
  write("n7.log", " 512: fine\n 513: CUDA error: lost\n", 5);
  EXPECT_EQ(first(), "rank 513 on n7: CUDA error: lost");
}

TEST_F(FirstErrorOfRun, ATracebackAtTheEndOfALogIsToldThoughTheRankExitedWithZero) {
  const auto last = [this] {
    const auto found = traceback_at_end(run_, 0);
    return found ? describe(*found) : "";
  };
  const std::string raised = "Traceback (most recent call last):\n  File\nValueError: bad\n";
  write("rank-0000-n1.log", raised + "training finished\n", 5);
  write("rank-0001-n1.log", "", 5);
  EXPECT_EQ(last(), "");
  write("rank-0002-n2.log", "step 1\n" + raised + "\n", 5);
  EXPECT_EQ(last(), "rank 2 on n2: ValueError: bad");
  EXPECT_FALSE(traceback_at_end(run_, static_cast<double>(std::time(nullptr)))) << "an older run's";
}

TEST(FirstError, AdviceWhereThereIsSome) {
  EXPECT_NE(advice_for("torch.OutOfMemoryError: CUDA out of memory").find("batch size"),
            std::string::npos);
  EXPECT_NE(advice_for("ModuleNotFoundError: No module named 'torch'").find("environment.activate"),
            std::string::npos);
  EXPECT_EQ(advice_for("something else"), "");
}

TEST(FirstError, AdviceWhereOnlyTheDeathIsKnown) {
  EXPECT_NE(advice_for(DeadRank{.signal = 9}).find("oom"), std::string::npos);
  EXPECT_NE(advice_for(DeadRank{.signal = 11}).find("core file"), std::string::npos);
  EXPECT_NE(advice_for(DeadRank{.signal = 7}).find("/dev/shm"), std::string::npos);
  EXPECT_NE(advice_for(DeadRank{.exit_code = 127}).find("environment.modules"), std::string::npos);
  EXPECT_EQ(advice_for(DeadRank{.exit_code = 7}), "");
  EXPECT_EQ(advice_for(DeadRank{.signal = 15}), "");
}

TEST(FirstError, AnyTextIsSurvived) {
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {"Traceback (most recent call last):",
                                           "\n",
                                           "  ",
                                           "x",
                                           "Error: ",
                                           "what():",
                                           "\x1b[",
                                           "\xff",
                                           "[rank0]: ",
                                           "Terminated"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (auto i = random() % 20; i > 0; --i) text += pieces[random() % pieces.size()];
    const auto found = error_in_log(text);
    EXPECT_TRUE(!found || !found->line.empty()) << text;
  }
}

}  // namespace
}  // namespace dllaunch
