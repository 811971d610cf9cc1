// One run, five faults, and what is left of its time: the goodput of a training that heals itself.
#include <cstdio>

#include "launcher/daemon/client/client.hpp"
#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::Ge;
using testing::HasSubstr;

class FiveFaults : public SupervisedFaults {
 protected:
  std::size_t starts() const { return events_of(work_->run_dir(), "start").size(); }
  /// The ranks were started again, and what they train is safe once more.
  void expect_goes_on(std::size_t starts_before) {
    ASSERT_TRUE(happens_within(90s, [&] { return starts() > starts_before; })) << journal();
    const double again = events_of(work_->run_dir(), "start").back()["time"];
    ASSERT_TRUE(happens_within(60s, [&] {
      const auto saved = events_of(work_->run_dir(), "checkpoint");
      return !saved.empty() && saved.back()["time"].get<double>() > again + 5;
    })) << journal();
  }
  /// Saves the daemon's page of the run to $DLLAUNCH_SCREENSHOTS, if set.
  void photograph(Workplace& daemon) {
    const char* folder = std::getenv("DLLAUNCH_SCREENSHOTS");
    if (folder == nullptr) return;
    const auto started = daemon.run({"daemon", "start", "--listen", "127.0.0.1:0"});
    ASSERT_EQ(started.exit_code, 0) << started.err;
    const DaemonPaths place{.folder = work_->path() + "/state/dllaunch/daemon"};
    const auto ask = [&](const std::string& path) {
      const auto answer = ask_daemon(place, "GET", path, 10s);
      return answer ? Json::parse(answer->body, nullptr, false) : Json();
    };
    ASSERT_TRUE(happens_within(20s, [&] { return !ask("/v1/runs")["runs"].empty(); }));
    const auto token = work_->text_of("state/dllaunch/daemon/token");
    const auto url =
        fmt::format("http://127.0.0.1:{}/#token={}&run={}", ask("/v1/daemon")["port"].dump(),
                    token.substr(0, token.find('\n')), ask("/v1/runs")["runs"][0]["id"].dump());
    cluster_->on_head({"chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                       "--disable-dev-shm-usage", "--user-data-dir=" + work_->path() + "/browser",
                       "--window-size=1500,1000", "--virtual-time-budget=4000",
                       fmt::format("--screenshot={}/daemon-page.png", folder), url});
    daemon.run({"daemon", "stop"});
    EXPECT_TRUE(fs::exists(fmt::format("{}/daemon-page.png", folder)));
  }
};

TEST_P(FiveFaults, OneRunAndItsGoodput) {
  if (GetParam() > 0) GTEST_SKIP() << "once is enough";
  epochs_ *= 16;
  start_training();

  auto before = starts();
  kill(rank(1), SIGKILL);
  expect_goes_on(before);

  before = starts();
  kill(rank(0), SIGSTOP);
  expect_goes_on(before);

  before = starts();
  kill(supervisors().back(), SIGKILL);
  expect_goes_on(before);

  before = starts();
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  expect_goes_on(before);

  before = starts();
  const auto node = cluster_->on_head({"squeue", "--noheader", "--format=%B"});
  const auto lost = node.substr(0, node.find('\n'));
  for (const char* name : {"slurmd", "slurmstepd"})
    cluster_->on_node(lost, {"pkill", "-KILL", name});
  lose(lost);
  expect_goes_on(before);

  expect_healed(testing::_, Ge(5), 300s);
  const auto told = summary();
  std::printf("%s\ngoodput %.3f of %.1f s, %.1f s in the queue, %d steps lost\n",
              told["restart_list"].dump(1).c_str(), told["goodput"].get<double>(),
              told["seconds"].get<double>(), told["queue_seconds"].get<double>(),
              told["lost_steps"].get<int>());
  EXPECT_GT(told["goodput"].get<double>(), 0.5);
  const auto daemon = place("daemon");
  daemon->before.insert(daemon->before.end(),
                        {"env", "XDG_STATE_HOME=" + work_->path() + "/state"});
  photograph(*daemon);
}

INSTANTIATE_TEST_SUITE_P(Rounds, FiveFaults, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
