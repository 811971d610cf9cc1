// `stage:` on a real Slurm of two nodes with a /tmp of their own each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class SlurmStage : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "2", "--user", "alice", "--user", "mallory"});
  }

  void arrange() override {
    fs::create_directories(work_->path() + "/data/sub dir");
    std::ofstream(work_->path() + "/data/sub dir/file") << "from the directory\n";
    std::system(("tar -C '" + work_->path() + "' -czf '" + work_->path() +
                 "/packed.tar.gz' --transform s,^data,packed, data")
                    .c_str());
  }
  void TearDown() override {
    if (!work_) return;
    work_->wait(0s);
    cluster_->on_head({"scancel", "--user=root"});
    EXPECT_TRUE(nothing_stays()) << on_nodes();
  }

  std::vector<std::string> args(const std::string& keys) {
    return {"run",
            work_->file("job.yaml",
                        "name: staged\n"
                        "resources: {nodes: 2, ranks_per_node: 1, device: cpu, "
                        "time: 5}\n" +
                            keys),
            "--run-dir", work_->run_dir()};
  }
  /// But for what mallory put there.
  static std::string on_nodes() {
    std::string all;
    for (const char* node : {"n1", "n2"})
      all += cluster_->on_node(node, {"find", "/tmp", "-maxdepth", "1", "-name", "dllaunch-stage-*",
                                      "!", "-user", "mallory"});
    return all;
  }
  static bool nothing_stays() {
    return happens_within(20s, [] { return on_nodes().empty(); });
  }
};

constexpr const char* both = "stage: [data, packed.tar.gz]\n";

TEST_F(SlurmStage, RanksReadTheirNodesOwnCopyAndItIsRemoved) {
  const auto ended = work_->run(
      args(std::string(both) +
           "environment: {variables: {MINE: '{stage}/data'}}\n"
           "run: [bash, -c, 'echo $(hostname) $(cat \"$MINE/sub dir/file\"); cat \"$1/packed/sub "
           "dir/file\" > /dev/null && stat -c \"%n %a\" $DLLAUNCH_STAGE', me, '{stage}']\n"));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("n1 from the directory"));
  EXPECT_THAT(ended.err, HasSubstr("n2 from the directory"));
  const auto id = work_->job_id();
  EXPECT_THAT(ended.err, testing::ContainsRegex("/tmp/dllaunch-stage-" + id + "-[0-9a-f]+ 700"));
  EXPECT_TRUE(nothing_stays()) << on_nodes();
  const auto log = work_->text_of("run/slurm-" + id + ".out");
  EXPECT_THAT(log, HasSubstr(": sources 2, programs 0, nodes 2"));
  // The keepers end by themselves: Slurm has nothing to say about them.
  EXPECT_EQ(log.find("CANCELLED"), std::string::npos) << log;
}

/// What 9 nodes and more do, on these two: the script is the user's to edit.
TEST_F(SlurmStage, SentByBroadcastWithThePrograms) {
  auto argv = args(std::string("stage: [data, packed.tar.gz, programs]\n") +
                   "train: {model: lenet, backend: reference, batch_size: 8, dataset: {kind: "
                   "synthetic, images: 64, classes: 10, channels: 1, image_size: 28}}\n");
  argv[0] = "script";
  argv.resize(2);
  auto script = work_->run(argv).out;
  const auto at = script.find("stage --to ");
  ASSERT_NE(at, std::string::npos) << script;
  script.insert(at + 6, "--broadcast ");
  const auto end = script.rfind("# The keeper's input");
  ASSERT_NE(end, std::string::npos) << script;
  script.insert(end,
                "srun bash -c 'cat \"$DLLAUNCH_STAGE/data/sub dir/file\" "
                "\"$DLLAUNCH_STAGE/packed/sub dir/file\"; ls $DLLAUNCH_STAGE*'\n");
  const auto file = work_->file("job.sbatch", script);
  // Its --wait would look ever more seldom.
  const auto id = cluster_->on_head({"sbatch", "--parsable", "--chdir", work_->path(),
                                     "--output=" + work_->path() + "/out.txt", file});
  ASSERT_NE(id, "");
  EXPECT_TRUE(happens_within(120s, [&] {
    return cluster_->on_head({"squeue", "--noheader", "--jobs=" + id}).empty();
  }));
  const auto log = work_->text_of("out.txt");
  EXPECT_THAT(log, HasSubstr(": sources 2, programs 2, nodes 2"));
  EXPECT_THAT(log, HasSubstr("from the directory\nfrom the directory\n"));
  EXPECT_EQ(log.find(".parcel"), std::string::npos) << log;
  const auto run_at = script.find("dllaunch_run=") + 13;
  const auto run_dir = script.substr(run_at, script.find('\n', run_at) - run_at);
  EXPECT_EQ(events_of(run_dir, "end").size(), 1u) << log;
  EXPECT_FALSE(events_of(run_dir, "checkpoint").empty());
  EXPECT_TRUE(fs::exists(run_dir + "/checkpoints"));
  EXPECT_TRUE(nothing_stays()) << on_nodes();
}

/// Another user knows the number of the next job, and what its folder was called before.
TEST_F(SlurmStage, AnotherUsersParcelsAreNotUnpacked) {
  fs::permissions(work_->path(), fs::perms::all);
  work_->before = cluster_->login("alice");
  work_->environment.emplace_back("HOME", "/nonexistent");
  std::ofstream(work_->path() + "/data/train.sh") << "echo alice trains\n";
  std::ofstream(work_->path() + "/precious") << "precious\n";
  fs::permissions(work_->path() + "/precious", fs::perms::all);
  const std::string plant =
      "setpriv --reuid mallory --regid mallory --clear-groups sh -c '"
      "mkdir -p /tmp/evil && echo echo mallory trains > /tmp/evil/train.sh; "
      "for n in $(seq 1 100); do s=/tmp/dllaunch-stage-$n; tar -C /tmp/evil -cf $s.data.parcel .; "
      "mkdir -p $s.packed.d/bin $s.packed.d/lib; chmod 777 $s.packed.d/lib; ln -s " +
      work_->path() + "/precious $s.packed.d/bin/dllaunch; done'";
  for (const char* node : {"n1", "n2"}) cluster_->on_node(node, {"sh", "-c", plant});
  const auto planted = cluster_->on_node("n1", {"sh", "-c", "ls /tmp | grep -c stage.*parcel"});
  EXPECT_EQ(planted, "100");
  for (const std::string what : {"data", "data, programs"}) {
    auto argv = args("stage: [" + what + "]\nrun: [bash, '{stage}/data/train.sh']\n");
    argv.back() += std::to_string(what.size());
    const auto ended = work_->run(argv);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("alice trains"));
    EXPECT_EQ(ended.err.find("mallory trains"), std::string::npos) << ended.err;
  }
  EXPECT_EQ(work_->text_of("precious"), "precious\n");
  for (const char* node : {"n1", "n2"})
    cluster_->on_node(node, {"sh", "-c", "rm -rf /tmp/evil /tmp/dllaunch-stage-*"});
}

TEST_F(SlurmStage, CancelledItIsRemovedToo) {
  work_->start(args(std::string(both) + "run: [sleep, '300']\n"));
  ASSERT_TRUE(happens_within(30s, [&] { return on_nodes().find("stage-") != std::string::npos; }));
  work_->signal(SIGTERM);
  EXPECT_EQ(work_->wait(60s).exit_code, 143);
  EXPECT_TRUE(nothing_stays()) << on_nodes();
}

TEST_F(SlurmStage, AMissingSourceIsSeenBeforeTheQueue) {
  const auto ended = work_->run(args("stage: [data, nothing.tar]\nrun: hostname\n"));
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("stage: no file or folder " + work_->path() + "/nothing.tar"));
  EXPECT_EQ(cluster_->on_head({"squeue", "--noheader"}), "");
}

TEST_F(SlurmStage, AFullDiskNamesItsNode) {
  cluster_->on_node("n2", {"sh", "-c",
                           "mkdir -p /tmp/small && mount -t tmpfs -o size=64k,mode=1777 small "
                           "/tmp/small"});
  cluster_->on_node("n1", {"mkdir", "-p", "-m", "1777", "/tmp/small"});
  cluster_->on_head({"mkdir", "-p", "-m", "1777", "/tmp/small"});
  std::ofstream(work_->path() + "/data/big") << std::string(1 << 20, 'x');
  const auto ended = work_->run(
      args("stage: [data]\nenvironment: {variables: {TMPDIR: /tmp/small}}\nrun: hostname\n"));
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("n2: cannot copy " + work_->path() + "/data: "));
  EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
  EXPECT_TRUE(happens_within(20s, [] {
    return cluster_->on_node("n1", {"ls", "/tmp/small"}).empty() &&
           cluster_->on_node("n2", {"ls", "/tmp/small"}).empty();
  }));
  cluster_->on_head({"rmdir", "/tmp/small"});
}

TEST_F(SlurmStage, AnOrdinaryUserStages) {
  fs::permissions(work_->path(), fs::perms::all);
  work_->before = cluster_->login("alice");
  work_->environment.emplace_back("HOME", "/nonexistent");
  const auto ended =
      work_->run(args(std::string(both) + "run: [cat, '{stage}/packed/sub dir/file']\n"));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("from the directory"));
}

TEST_F(SlurmStage, HereWithoutSlurmToo) {
  work_->before.clear();
  auto argv = args(
      "stage: [data, packed.tar.gz]\nrun: [bash, -c, 'cat \"{stage}/data/sub "
      "dir/file\"; echo $DLLAUNCH_STAGE']\n");
  argv.insert(argv.end(), {"--local", "--set", "resources.nodes=1"});
  const auto ended = work_->run(argv);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("from the directory"));
  const auto at = ended.err.rfind("/dllaunch-stage-local\n");
  ASSERT_NE(at, std::string::npos) << ended.err;
  const auto begin = ended.err.rfind(' ', at) == std::string::npos
                         ? ended.err.rfind('\n', at) + 1
                         : std::max(ended.err.rfind('\n', at), ended.err.rfind(' ', at)) + 1;
  EXPECT_FALSE(fs::exists(ended.err.substr(begin, ended.err.find('\n', at) - begin)));
}

}  // namespace
}  // namespace dllaunch
