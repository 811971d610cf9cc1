// dllaunch doctor on real processes: a bound one, ranks of the real mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/owned_process.hpp"
#include "launcher/os/posix_system.hpp"
#include "runtime/rank/binding.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Doctor : public testing::Test {
 protected:
  /// Starts `script` in the background; it writes the numbers of its processes to `pids`.
  void start(const std::string& script) {
    auto started = OwnedProcess::start({.program = "/bin/bash",
                                        .argv = {"bash", "-c", script, work_.path() + "/pids"},
                                        // The session of an mpirun that is killed stays in TMPDIR.
                                        .environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                                        {"TMPDIR", work_.path()}},
                                        .output_path = work_.path() + "/output"});
    ASSERT_TRUE(started) << started.error().what;
    process_.emplace(*std::move(started));
  }

  std::vector<int> pids(std::size_t count) {
    std::vector<int> all;
    happens_within(30s, [&] {
      all.clear();
      std::ifstream file(work_.path() + "/pids");
      for (int pid = 0; file >> pid;) all.push_back(pid);
      return all.size() >= count;
    });
    EXPECT_EQ(all.size(), count) << work_.text_of("output");
    return all;
  }

  Json answer(const std::vector<std::string>& args, int exit_code) {
    auto argv = args;
    argv.emplace_back("--json");
    const auto ended = work_.run(argv);
    EXPECT_EQ(ended.exit_code, exit_code) << ended.err << ended.out;
    return Json::parse(ended.out, nullptr, false);
  }

  static Json finding(const Json& answer, const std::string& id) {
    for (const auto& finding : answer["findings"])
      if (finding["id"] == id) return finding;
    return nullptr;
  }

  Workplace work_;
  std::optional<OwnedProcess> process_;
};

TEST_F(Doctor, SeesHowAProcessIsBound) {
  const int cpu = current_binding()->last();
  start("echo $$ >> $0; OMP_NUM_THREADS=64 exec taskset -c " + std::to_string(cpu) + " sleep 300");
  const auto pid = pids(1).at(0);
  Json seen;
  happens_within(10s, [&] {
    seen = answer({"doctor", "--pid", std::to_string(pid)}, 0);
    return seen["ranks"][0]["command"] == "sleep";
  });
  EXPECT_EQ(seen["ranks"][0]["command"], "sleep");
  EXPECT_EQ(seen["ranks"][0]["cpus"], std::to_string(cpu));
  EXPECT_EQ(seen["ranks"][0]["rank"], -1);
  EXPECT_EQ(finding(seen, "A06")["level"], "WARN");
  EXPECT_THAT(finding(seen, "A06")["seen"].get<std::string>(), HasSubstr("OMP_NUM_THREADS=64"));
}

TEST_F(Doctor, RanksOfMpirunOnOneCpuAreAFailure) {
  if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
  const auto mine = current_binding();
  if (mine->size() < 2) GTEST_SKIP() << "one CPU cannot be shared wrongly";
  start(
      "exec mpirun -np 2 --oversubscribe --bind-to none bash -c 'echo $$ >> $0; exec taskset -c " +
      std::to_string(mine->first()) + " sleep 300' $0");
  const auto ranks = pids(2);
  ASSERT_EQ(ranks.size(), 2u);
  Json seen;
  happens_within(10s, [&] {
    const auto ended = work_.run({"doctor", "--pid", std::to_string(ranks[0]), "--json"});
    seen = Json::parse(ended.out, nullptr, false);
    // Before they are bound they fail for another reason.
    return ended.exit_code == 4 && !finding(seen, "A02").is_null();
  });
  ASSERT_EQ(seen["ranks"].size(), 2u) << seen.dump(2);
  const auto overlap = finding(seen, "A02");
  EXPECT_EQ(overlap["level"], "FAIL");
  EXPECT_EQ(overlap["ranks"], Json::parse("[0, 1]"));
  EXPECT_THAT(overlap["fix"].get<std::string>(), HasSubstr("mask_cpu:"));

  const auto page = work_.run({"doctor", "--pid", std::to_string(ranks[1])});
  EXPECT_EQ(page.exit_code, 4);
  EXPECT_THAT(page.out, HasSubstr("FAIL A02  ranks share CPUs (ranks 0-1)"));
  EXPECT_EQ(page.err, "");
}

TEST_F(Doctor, RanksOfARunAreBoundAsPlanned) {
  if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
  if (current_binding()->size() < 2) GTEST_SKIP() << "one CPU cannot be divided";
  const auto job = work_.file("job.yaml",
                              "name: job\nresources: {ranks_per_node: 2, device: cpu}\n"
                              "run: [sleep, '300']\nrecovery: {grace_seconds: 5}\n");
  Workplace run;
  run.start({"run", job, "--local", "--run-dir", work_.run_dir()});
  std::vector<pid_t> rank;
  Json seen;
  const bool found = happens_within(60s, [&] {
    rank = processes_of(work_.run_dir(), 0);
    if (rank.empty()) return false;
    const auto ended = work_.run({"doctor", "--pid", std::to_string(rank[0]), "--json"});
    seen = Json::parse(ended.out, nullptr, false);
    return ended.exit_code == 0 && seen["ranks"].size() == 2 &&
           seen["ranks"][0]["command"] == "sleep" && seen["ranks"][1]["command"] == "sleep";
  });
  run.signal(15);
  run.wait();
  EXPECT_TRUE(found) << seen.dump(2);
  for (const auto& finding : seen["findings"]) EXPECT_NE(finding["level"], "FAIL") << finding;
  EXPECT_TRUE(finding(seen, "A15").is_null()) << "as planned";
}

TEST_F(Doctor, LooksAtThisNode) {
  const auto seen = answer({"doctor"}, 0);
  ASSERT_EQ(seen["ranks"].size(), 1u);
  EXPECT_EQ(seen["ranks"][0]["cpus"], to_list(*current_binding()));
  EXPECT_EQ(seen["host"], PosixSystem(Console{}).host_name());
}

/// Found by its name, as the driver's own.
TEST_F(Doctor, ShowsHowTheGpusAre) {
  std::filesystem::create_symlink(DLLAUNCH_FAKE_NVML_STATE, work_.path() + "/libnvidia-ml.so.1");
  work_.environment = {{"LD_LIBRARY_PATH", work_.path()}, {"DLLAUNCH_FAKE_GPUS", "hot"}};
  const auto gpus = answer({"doctor"}, 0)["gpus"];
  ASSERT_EQ(gpus.size(), 2u) << gpus.dump(2);
  EXPECT_EQ(gpus[0]["pci"], "0000:07:00.0");
  EXPECT_EQ(gpus[0]["utilisation"], 0.75);
  EXPECT_EQ(gpus[0]["throttled"], Json::array());
  EXPECT_EQ(gpus[1]["throttled"], Json::parse(R"(["thermal", "hardware"])"));
  EXPECT_EQ(gpus[1]["sm_clock_mhz"], 660);
  EXPECT_THAT(work_.run({"doctor"}).out, HasSubstr("660 of 1980 MHz   91 C  thermal, hardware"));
}

TEST_F(Doctor, MeasuresWhenAsked) {
  EXPECT_TRUE(answer({"doctor"}, 0)["bench"].is_null());
  const auto bench = answer({"doctor", "--bench"}, 0)["bench"];
  ASSERT_EQ(bench.size(), 1u);
  EXPECT_FALSE(bench[0]["memory"].empty()) << bench.dump(2);
  EXPECT_GT(bench[0]["memory"][0]["gb_per_s"].get<double>(), 0);
  EXPECT_THAT(work_.run({"doctor", "--bench"}).out, HasSubstr(": memory bandwidth, GB/s\n"));
}

TEST_F(Doctor, AProcessThatIsNotThereIsAMistake) {
  const auto ended = work_.run({"doctor", "--pid", "4194303"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no process 4194303"));
}

}  // namespace
}  // namespace dllaunch
