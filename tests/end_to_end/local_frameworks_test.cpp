// `run:` on this machine without a Slurm: what programs find in their environment, and ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/support/pytorch.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string source = DLLAUNCH_SOURCE_DIR;
const std::string programs = DLLAUNCH_BIN_DIR;

using Map = std::map<std::string, std::string>;

Map variables_in(const std::string& text) {
  Map found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    found[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  return found;
}

Map environment_of(const Workplace& work, int rank) {
  const std::string stem = "rank-000" + std::to_string(rank);
  for (const auto& entry : std::filesystem::directory_iterator(work.run_dir() + "/out")) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(stem)) return variables_in(work.text_of("run/out/" + name));
  }
  return {};
}

TEST(LocalFrameworks, TheSameVariablesAsUnderSlurm) {
  Workplace work;
  // As a shell has them in which torchrun, an old job and an mpirun were at work.
  work.environment = {{"MASTER_ADDR", "old-node"},    {"MASTER_PORT", "1"},   {"RANK", "17"},
                      {"TORCHELASTIC_RUN_ID", "old"}, {"GROUP_RANK", "9"},    {"TF_CONFIG", "{}"},
                      {"HOROVOD_RANK", "3"},          {"JAX_PROCESS_ID", "4"}};
  const auto job = work.file("job.yaml",
                             "name: variables\nresources: {ranks_per_node: 3, device: cpu}\n"
                             "run: [env]\nframework: tensorflow\n");
  const auto ended = work.run({"run", job, "--local", "--run-dir", work.run_dir()});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto first = environment_of(work, 0);
  for (int rank = 0; rank < 3; ++rank) {
    const auto set = environment_of(work, rank);
    EXPECT_EQ(set.at("RANK"), std::to_string(rank));
    EXPECT_EQ(set.at("LOCAL_RANK"), std::to_string(rank));
    EXPECT_EQ(set.at("WORLD_SIZE"), "3");
    EXPECT_EQ(set.at("LOCAL_WORLD_SIZE"), "3");
    EXPECT_EQ(set.at("NODE_RANK"), "0");
    EXPECT_EQ(set.at("MASTER_ADDR"), "localhost");
    EXPECT_GT(std::stoi(set.at("MASTER_PORT")), 1024);
    EXPECT_EQ(set.at("MASTER_PORT"), first.at("MASTER_PORT"));
    EXPECT_THAT(set.at("TF_CONFIG"), HasSubstr("\"index\":" + std::to_string(rank)));
    for (const char* gone :
         {"TORCHELASTIC_RUN_ID", "GROUP_RANK", "HOROVOD_RANK", "JAX_PROCESS_ID"}) {
      EXPECT_FALSE(set.contains(gone)) << gone;
    }
  }
}

// Fifty programs on one machine, each with its port held open beside all the others.
TEST(LocalFrameworks, FiftyStartsAtOnceHaveFiftyPorts) {
  constexpr int starts = 50;
  Workplace work;
  const std::string release = work.path() + "/release";
  std::vector<OwnedProcess> running;
  for (int i = 0; i < starts; ++i) {
    auto started = OwnedProcess::start({.program = programs + "/dllaunch",
                                        .argv = {"dllaunch", "exec", "--framework", "pytorch", "--",
                                                 programs + "/port_holder", release},
                                        .environment = {{"CUDA_VISIBLE_DEVICES", ""}},
                                        .output_path = work.path() + "/out-" + std::to_string(i)});
    ASSERT_TRUE(started) << started.error().what;
    running.push_back(*std::move(started));
  }
  std::set<std::string> ports;
  const auto all_hold = [&] {
    ports.clear();
    for (int i = 0; i < starts; ++i) {
      const auto text = work.text_of("out-" + std::to_string(i));
      if (text.starts_with("PORT ")) ports.insert(text);
    }
    return ports.size() == starts;
  };
  EXPECT_TRUE(happens_within(30s, all_hold)) << ports.size() << " different ports";
  work.file("release", "");
  for (int i = 0; i < starts; ++i) {
    auto& process = running[static_cast<std::size_t>(i)];
    EXPECT_TRUE(happens_within(20s, [&] { return process.poll().has_value(); }));
    EXPECT_EQ(process.poll(), 0) << work.text_of("out-" + std::to_string(i));
  }
}

TEST(LocalFrameworks, ARankThatDoesNotComeIsSaidAndNotWaitedForForEver) {
  Workplace work;
  // Rank 1 runs something else.
  const auto output = PosixSystem(Console{}).run(
      {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "sh", "-c",
       "[ $OMPI_COMM_WORLD_RANK = 0 ] || exec sleep 30; exec \"$0\" exec --rendezvous-seconds 2 -- "
       "true",
       programs + "/dllaunch"},
      60s);
  if (!output) GTEST_SKIP() << output.error().what;
  EXPECT_NE(output->exit_code, 0);
  EXPECT_THAT(output->err, HasSubstr("1 of the 1 ranks it waits for did not connect within 2 s"));
  EXPECT_THAT(output->err, HasSubstr("--rendezvous-seconds 0"));
}

TEST(LocalFrameworks, AJobFileCanSwitchTheMeetingOff) {
  Workplace work;
  const auto job =
      work.file("job.yaml",
                "name: alone\nresources: {ranks_per_node: 2, device: cpu}\nrun: [env]\n"
                "environment: {variables: {DLLAUNCH_RENDEZVOUS_SECONDS: \"0\"}}\n");
  auto ended = work.run({"run", job, "--local", "--run-dir", work.run_dir()});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_FALSE(environment_of(work, 1).contains("MASTER_ADDR"));
  EXPECT_EQ(environment_of(work, 1).at("WORLD_SIZE"), "2");
  ended = work.run({"run", job, "--local", "--run-dir", work.path() + "/other", "--set",
                    "environment.variables.DLLAUNCH_RENDEZVOUS_SECONDS=soon"});
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("DLLAUNCH_RENDEZVOUS_SECONDS is \"soon\""));
}

TEST(LocalFrameworks, PyTorchTrainsWithTheExample) {
  if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  Workplace work;
  const auto ended =
      work.run({"run", source + "/examples/pytorch-ddp/job.yaml", "--local", "--run-dir",
                work.run_dir(), "--set", "resources.nodes=1", "--set",
                "run=[/usr/bin/python3, " + source + "/examples/pytorch-ddp/train.py]"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("rank 1 of 2"));
  EXPECT_THAT(ended.err, HasSubstr("weights agree"));
}

}  // namespace
}  // namespace dllaunch
