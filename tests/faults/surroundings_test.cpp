// What happens around jobs that have a supervisor: the disk is full, the run's directory is away
// for a while, clocks step.
#include "tests/faults/supervised_faults.hpp"

#include <thread>

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

class Surroundings : public SupervisedFaults {
 protected:
  /// Moves the run directory to a disk shared only with the process that fills it.
  void move_to_small_disk() {
    const auto folder = fs::path(small_disk_.path()) / fs::path(work_->path()).filename();
    fs::create_directory(folder);
    fs::create_directory_symlink(folder, work_->run_dir());
  }

  static fs::path filler() { return fs::path(small_disk_.path()) / "filler"; }
  /// To its last byte, as far as that goes while others write.
  static void fill_disk() {
    EXPECT_TRUE(happens_within(std::chrono::seconds(10), [] {
      top_up();
      return fs::space(small_disk_.path()).available == 0;
    }));
  }
  /// Takes what a checkpoint that was being written has given back.
  static void top_up() {
    std::ofstream out(filler(), std::ios::binary | std::ios::app);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
  }
  static void free_disk() { fs::remove(filler()); }
  /// They know the directory that the link leads to.
  bool ranks_are_gone() const {
    return processes_of(fs::weakly_canonical(work_->run_dir()).string()).empty();
  }

  void on_all(const std::vector<std::string>& argv) const {
    for (const char* node : nodes) cluster_->on_node(node, argv);
    cluster_->on_head(argv);
  }
};

TEST_P(Surroundings, TheDiskIsFullForAWhile) {
  move_to_small_disk();
  start_training({"runtime.stall_abort_seconds=60"});
  fill_disk();
  EXPECT_TRUE(happens_within(30s, [&] {
    top_up();
    return ranks_are_gone();
  }));
  std::this_thread::sleep_for(5s);
  free_disk();
  expect_healed(HasSubstr("No space left on device"));
}

TEST_P(Surroundings, TheDiskStaysFull) {
  move_to_small_disk();
  start_training();
  fill_disk();
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 3) << ended.err << journal();
  EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
  free_disk();
  const auto reader = place("reader");
  EXPECT_THAT(reader->run({"status", work_->run_dir()}).out, HasSubstr("No space left on device"));
  EXPECT_EQ(summary()["status"], "failed");
}

TEST_P(Surroundings, TheRunDirectoryIsAway) {
  start_training({"runtime.stall_abort_seconds=60"});
  on_all({"mount", "-t", "tmpfs", "away", GetParam() % 2 == 0 ? work_->run_dir() : work_->path()});
  EXPECT_TRUE(happens_within(30s, [&] { return ranks_are_gone(); }));
  std::this_thread::sleep_for(5s);
  on_all({"umount", "-l", GetParam() % 2 == 0 ? work_->run_dir() : work_->path()});
  expect_healed(HasSubstr("run directory"));
}

/// It cannot write where the run is: the ranks go on without it.
TEST_P(Surroundings, ANodeIsNotFit) {
  const auto dying = start_and_hold();
  cluster_->on_node("n2", {"mount", "-t", "tmpfs", "-o", "ro", "away", work_->run_dir()});
  kill(dying, SIGKILL);
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"));
  cluster_->on_node("n2", {"umount", "-l", work_->run_dir()});
  EXPECT_THAT(journal(), HasSubstr("requeueing without n2"));
  EXPECT_THAT(journal(), HasSubstr("n2: folders (run directory): "));
  EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
              AllOf(HasSubstr("ExcNodeList=n2"), HasSubstr("NodeList=n[1,3]")));
  std::ifstream lines(work_->run_dir() + "/supervisor.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto event = Json::parse(line, nullptr, false);
    if (event.is_object() && event["event"] == "preflight")
      std::cout << "pre-flight took " << event["seconds"] << " s\n";
  }
}

TEST_P(Surroundings, ClocksStep) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
  if (!fs::exists(library)) GTEST_SKIP() << "libfaketime is not installed";
  std::string text = training;
  const std::string one = "OMP_NUM_THREADS: \"1\"";
  text.replace(text.find(one), one.size(),
               one + ", LD_PRELOAD: " + library +
                   ", FAKETIME_TIMESTAMP_FILE: /tmp/clock, FAKETIME_NO_CACHE: \"1\", "
                   "FAKETIME_DONT_FAKE_MONOTONIC: \"1\", DONT_FAKE_MONOTONIC: \"1\"");
  start_training({"runtime.stall_abort_seconds=300"}, text);
  const auto dying = rank(1);
  kill(dying, SIGSTOP);  // until the clocks are set
  const bool even = GetParam() % 2 == 0;
  cluster_->on_node("n1", {"sh", "-c", even ? "echo -1h > /tmp/clock" : "echo +1h > /tmp/clock"});
  cluster_->on_node("n2", {"sh", "-c", even ? "echo +1h > /tmp/clock" : "echo -1h > /tmp/clock"});
  kill(dying, SIGCONT);
  std::this_thread::sleep_for(1s);
  kill(dying, SIGKILL);
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"));
  // Of the trainer's events at least the last are an hour off.
  const double off =
      events_of(work_->run_dir(), "end").back()["time"].get<double>() - unix_seconds();
  // The training to compare with may have taken minutes since.
  EXPECT_NEAR(off, even ? -3600 : 3600, 1800) << "the clock did not step";
  const auto told = summary();
  EXPECT_GE(told["goodput"].get<double>(), 0);
  EXPECT_LE(told["goodput"].get<double>(), 1);
  EXPECT_GE(told["seconds"].get<double>(), 0);
  on_all({"rm", "-f", "/tmp/clock"});
  on_all({"sh", "-c", "rm -f /dev/shm/*faketime*"});
}

INSTANTIATE_TEST_SUITE_P(Rounds, Surroundings, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
