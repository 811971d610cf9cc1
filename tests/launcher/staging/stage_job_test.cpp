#include "launcher/staging/stage_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> joined(const std::vector<std::vector<std::string>>& commands) {
  std::vector<std::string> lines;
  for (const auto& command : commands) {
    std::string line;
    for (const auto& word : command) line += (line.empty() ? "" : " ") + word;
    // Behind the variables that srun must not see.
    lines.push_back(line.starts_with("env ") ? line.substr(line.find("srun ")) : line);
  }
  return lines;
}

class StageOnAllNodes : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(at("data"));
    std::ofstream(at("a.tar")) << "tar";
    job_ = {.request = {.folder = "/tmp/dllaunch-stage-7",
                        .sources = {at("data"), at("a.tar")},
                        .run_dir = "/runs/r"},
            .nodes = 3,
            .dllaunch = "/opt/dllaunch"};
    system_.respond = [](const std::vector<std::string>&) {
      return Result<CommandOutput>(CommandOutput{});
    };
  }
  std::string at(const std::string& name) const { return here_.path() + "/" + name; }
  std::string node_part() const {
    return on_nodes + "--here --to /tmp/dllaunch-stage-7 --run-dir /runs/r -- " + at("data") + " " +
           at("a.tar");
  }

  const std::string on_nodes =
      "srun --overlap --nodes=3 --ntasks=3 --ntasks-per-node=1 --cpus-per-task=1 --gres=none "
      "--cpu-bind=none --mem-bind=none --mem=0 --mpi=none --input=none --kill-on-bad-exit=0 "
      "--quiet /opt/dllaunch stage ";
  const TemporaryFolder here_;
  StageJob job_;
  FakeSystem system_;
};

TEST_F(StageOnAllNodes, AFewReadForThemselves) {
  ASSERT_TRUE(stage_on_all_nodes(system_, job_));
  EXPECT_THAT(joined(system_.ran), ElementsAre(node_part()));
}

/// Into a folder that is private before anything is sent, each with its checksum.
TEST_F(StageOnAllNodes, ManyAreSentWhatWasReadOnce) {
  job_.broadcast = true;
  job_.request.folder = at("dllaunch-stage-7");
  const std::string parcels = job_.request.folder + "/.parcels/";
  fs::create_directories(parcels);
  system_.respond = [&](const std::vector<std::string>& argv) {
    if (argv[0] == "tar") std::ofstream(parcels + "packed") << "packed";
    return Result<CommandOutput>(CommandOutput{});
  };
  std::ofstream(at("packed")) << "packed";
  const auto packed = "source-data=" + *file_checksum(at("packed"));
  const auto archive = "source-a=" + *file_checksum(at("a.tar"));
  const auto done = stage_on_all_nodes(system_, job_);
  ASSERT_TRUE(done) << done.error().what;
  const std::string to = " --to " + job_.request.folder;
  EXPECT_THAT(joined(system_.ran),
              ElementsAre(on_nodes + "--here --make" + to,
                          "tar --create --dereference --force-local --file " + parcels +
                              "packed --directory " + at("data") + " .",
                          "sbcast --force " + parcels + "packed " + parcels + "source-data",
                          "sbcast --force " + at("a.tar") + " " + parcels + "source-a",
                          on_nodes + "--here" + to + " --made --parcel " + packed + " --parcel " +
                              archive + " --run-dir /runs/r -- " + at("data") + " " + at("a.tar")));
  // A keeper's folder has ended with the keeper.
  job_.request.made = true;
  system_.ran.clear();
  ASSERT_TRUE(stage_on_all_nodes(system_, job_));
  EXPECT_EQ(joined(system_.ran).front(), on_nodes + "--here --make" + to + " --made");
}

TEST_F(StageOnAllNodes, TheNodesWordsAreToldAFewOfThem) {
  system_.respond = [](const std::vector<std::string>&) {
    std::string err;
    for (const char* node : {"n2", "n3", "n4", "n5"})
      err += std::string("dllaunch: ") + node + ": cannot copy\n  try: stage less\n";
    return Result<CommandOutput>(
        CommandOutput{3, "", err + "srun: error: n2: task 1: Exited with exit code 3\n"});
  };
  const auto failed = stage_on_all_nodes(system_, job_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what,
            "stage: n2: cannot copy; n3: cannot copy; n4: cannot copy; and 1 more nodes");
  EXPECT_EQ(failed.error().hint, "stage less");
  EXPECT_EQ(failed.error().kind, ErrorKind::unavailable);
}

TEST_F(StageOnAllNodes, SlurmsOwnWordsWhereNoNodeSaysAnything) {
  job_.broadcast = true;
  job_.request.sources = {at("a.tar")};
  system_.respond = [](const std::vector<std::string>& argv) {
    if (argv[0] != "sbcast") return Result<CommandOutput>(CommandOutput{});
    return Result<CommandOutput>(
        CommandOutput{1, "", "sbcast: error: REQUEST_FILE_BCAST(n2): No space left on device\n"});
  };
  const auto failed = stage_on_all_nodes(system_, job_);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().what, HasSubstr("(n2): No space left on device"));
}

TEST_F(StageOnAllNodes, AMissingSourceIsSeenFirst) {
  fs::remove(at("a.tar"));
  const auto failed = stage_on_all_nodes(system_, job_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "stage: " + at("a.tar") + " does not exist");
  EXPECT_TRUE(system_.ran.empty());
}

TEST(StagePrograms, TakeTheirModulesAlong) {
  const TemporaryFolder here;
  PosixSystem system{Console{}};
  const auto program = here.path() + "/dltrain";
  fs::copy_file("/bin/true", program);
  fs::copy_file("/bin/true", here.path() + "/libdltrain_cuda.so");
  std::ofstream(here.path() + "/libother.so") << "not ours";
  const auto parcel = here.path() + "/dllaunch-stage-7.packed";
  const auto packed = pack_programs(system, {program}, parcel);
  ASSERT_TRUE(packed) << packed.error().what;
  const auto list = system.run({"tar", "-tf", parcel}, std::chrono::seconds(10));
  ASSERT_TRUE(list);
  EXPECT_THAT(list->out, HasSubstr("./bin/dltrain\n"));
  EXPECT_THAT(list->out, HasSubstr("./bin/libdltrain_cuda.so\n"));
  EXPECT_EQ(list->out.find("libother"), std::string::npos);
  EXPECT_EQ(list->out.find("libc.so"), std::string::npos);
  const auto gone = pack_programs(system, {here.path() + "/nothing"}, parcel);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().what, HasSubstr("/nothing: No such file"));
}

TEST(StagePrograms, OfABundleArePackedWithTheirFolders) {
  PosixSystem system{Console{}};
  const TemporaryFolder here;
  const std::string prefix = here.path() + "/a bundle/";
  fs::create_directories(prefix + "libexec/dllaunch");
  fs::create_directories(prefix + "lib/dllaunch/glibc");
  const std::string program = prefix + "libexec/dllaunch/dllaunch";
  for (const auto& file : {program, program + ".real", prefix + "lib/dllaunch/glibc/libc.so.6"})
    std::ofstream(file) << "one";
  const auto parcel = here.path() + "/dllaunch-stage-7.packed";
  const auto packed = pack_programs(system, {program}, parcel);
  ASSERT_TRUE(packed) << packed.error().what;
  const auto list = system.run({"tar", "-tf", parcel}, std::chrono::seconds(10));
  ASSERT_TRUE(list);
  for (const char* file :
       {"./bin/dllaunch\n", "./libexec/dllaunch/dllaunch\n", "./libexec/dllaunch/dllaunch.real\n",
        "./lib/dllaunch/glibc/libc.so.6\n"})
    EXPECT_THAT(list->out, HasSubstr(file));
}

}  // namespace
}  // namespace dllaunch
