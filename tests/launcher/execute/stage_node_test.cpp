#include "launcher/execute/stage_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "launcher/posix_world.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StageNode : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(source());
    std::ofstream(source() + "/one") << "1";
    fs::create_directories(source() + "/deep/er");
    std::ofstream(source() + "/deep/er/zwei ä") << "2";
  }
  std::string source() const { return here_.path() + "/data set"; }
  std::string folder() const { return here_.path() + "/dllaunch-stage-7"; }
  std::string staged(const std::string& name) const {
    std::ifstream file(folder() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void shell(const std::string& line) {
    const auto done =
        world_.run({"bash", "-c", "cd \"$0\" && " + line, here_.path()}, std::chrono::minutes(1));
    ASSERT_TRUE(done && done->exit_code == 0) << (done ? done->err : done.error().what);
  }
  Result<Ok> stage(const std::vector<std::string>& sources, const std::string& run_dir = "") {
    return stage_on_this_node(world_, {.folder = folder(), .sources = sources, .run_dir = run_dir});
  }

  const TemporaryFolder here_;
  PosixWorld world_{Console{}};
};

TEST_F(StageNode, DirectoriesAndFilesKeepTheirNames) {
  std::ofstream(here_.path() + "/table.h5") << "h5";
  ASSERT_TRUE(stage({source(), here_.path() + "/table.h5"}));
  EXPECT_EQ(staged("data set/one"), "1");
  EXPECT_EQ(staged("data set/deep/er/zwei ä"), "2");
  EXPECT_EQ(staged("table.h5"), "h5");
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
}

/// As in caches of models, snapshots/x -> ../../blobs/y, and in data sets with a "latest".
TEST_F(StageNode, WhatLinksNameComesAlong) {
  shell(
      "mkdir -p elsewhere/v3 && echo -n far > elsewhere/v3/f && ln -s elsewhere/v3 latest &&"
      "ln -s ../elsewhere/v3/f 'data set/file' && ln -s one 'data set/near'");
  ASSERT_TRUE(stage({here_.path() + "/latest", source()}));
  fs::remove_all(here_.path() + "/elsewhere");
  EXPECT_EQ(staged("latest/f"), "far");
  EXPECT_EQ(staged("data set/file"), "far");
  EXPECT_EQ(staged("data set/near"), "1");
}

TEST_F(StageNode, ALinkToNothingIsNamed) {
  shell("ln -s gone 'data set/broken'");
  const auto done = stage({source()});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("data set/broken"));
}

TEST_F(StageNode, ArchivesAreUnpackedUnderTheirName) {
  shell(
      "tar -czf flat.tar.gz -C 'data set' . && tar -cf named.tar --transform 's,^data set,named,' "
      "'data set'");
  ASSERT_TRUE(stage({here_.path() + "/flat.tar.gz", here_.path() + "/named.tar"}));
  EXPECT_EQ(staged("flat/one"), "1");
  EXPECT_EQ(staged("named/one"), "1");  // not named/named/one
  EXPECT_EQ(staged("named/deep/er/zwei ä"), "2");
}

TEST_F(StageNode, ZipAndZstdWhereTheirToolsAre) {
  if (!world_.find_program("zip") || !world_.find_program("zstd"))
    GTEST_SKIP() << "no zip or no zstd here";
  shell("(cd 'data set' && zip -qr ../z.zip .) && tar --zstd -cf s.tar.zst -C 'data set' .");
  ASSERT_TRUE(stage({here_.path() + "/z.zip", here_.path() + "/s.tar.zst"}));
  EXPECT_EQ(staged("z/one"), "1");
  EXPECT_EQ(staged("s/one"), "1");
}

TEST_F(StageNode, ParcelsComeBeforeTheSource) {
  shell(
      "tar -cf 'dllaunch-stage-7.data set.parcel' --transform s,one,sent, -C 'data set' . && "
      "mkdir -p p/bin && echo x > p/bin/dltrain && tar -cf dllaunch-stage-7.programs -C p .");
  ASSERT_TRUE(stage({source()}));
  EXPECT_EQ(staged("data set/sent"), "1");
  EXPECT_EQ(staged("data set/one"), "");
  EXPECT_EQ(staged(".dllaunch/bin/dltrain"), "x\n");
  EXPECT_FALSE(fs::exists(source_parcel(folder(), source())));
  EXPECT_FALSE(fs::exists(programs_parcel(folder())));
}

TEST_F(StageNode, TheTrainersInputKnowsTheFolder) {
  std::ofstream(here_.path() + "/train.json") << R"({"path": "{stage}/data set"})";
  ASSERT_TRUE(stage({}, here_.path()));
  EXPECT_EQ(staged(".dllaunch/train.json"), R"({"path": ")" + folder() + R"(/data set"})");
}

TEST_F(StageNode, AgainItBeginsAnew) {
  ASSERT_TRUE(stage({source()}));
  std::ofstream(folder() + "/data set/left over") << "x";
  shell("chmod a-w dllaunch-stage-7/'data set'");
  ASSERT_TRUE(stage({source()}));
  EXPECT_EQ(staged("data set/left over"), "");
  EXPECT_EQ(staged("data set/one"), "1");
}

TEST_F(StageNode, AFailureNamesTheNodeAndLeavesNothing) {
  std::ofstream(here_.path() + "/broken.tar") << "no archive";
  const auto broken = stage({source(), here_.path() + "/broken.tar"});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().what, HasSubstr(world_.host_name() + ": cannot unpack " +
                                             here_.path() + "/broken.tar: tar"));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(StageNode, AFullDiskIsSaidSo) {
  FakeWorld world;
  world.host = "n7";
  world.respond = [](const std::vector<std::string>&) {
    return Result<CommandOutput>(
        CommandOutput{1, "", "cp: error writing 'x': No space left on device\nmore\n"});
  };
  const auto full = stage_on_this_node(world, {.folder = folder(), .sources = {"/scratch/big"}});
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().what,
              HasSubstr("n7: cannot copy /scratch/big: cp: error writing 'x': No "
                        "space left on device ("));
  EXPECT_THAT(full.error().what, HasSubstr(" GiB free on " + here_.path()));
  EXPECT_THAT(full.error().hint, HasSubstr("TMPDIR"));
}

TEST_F(StageNode, RemovesReadOnlyFoldersAndParcelsAndNothingElse) {
  ASSERT_TRUE(stage({source()}));
  chmod((folder() + "/data set/deep").c_str(), 0500);
  std::ofstream(source_parcel(folder(), "/x/y")) << "half";
  fs::create_directories(here_.path() + "/dllaunch-stage-77");
  ASSERT_TRUE(remove_stage(folder()));
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_FALSE(fs::exists(source_parcel(folder(), "/x/y")));
  EXPECT_TRUE(fs::exists(here_.path() + "/dllaunch-stage-77"));
  EXPECT_TRUE(remove_stage(folder()));
  EXPECT_FALSE(remove_stage(source()));
  EXPECT_TRUE(fs::exists(source()));
}

TEST_F(StageNode, TheDiskIsTheSitesThenTheUsersThenTmp) {
  FakeWorld world;
  EXPECT_EQ(node_disk(world), "/tmp");
  world.folders = {here_.path(), here_.path() + "/own", "/proc/1"};
  fs::create_directories(here_.path() + "/own");
  world.variables = {{"TMPDIR", here_.path() + "/"}};
  EXPECT_EQ(node_disk(world), here_.path());
  world.variables["SLURM_TMPDIR"] = here_.path() + "/own";
  EXPECT_EQ(node_disk(world), here_.path() + "/own");
  world.variables["SLURM_TMPDIR"] = "/not/there";
  EXPECT_EQ(node_disk(world), here_.path());
  world.variables = {{"TMPDIR", source()}};  // a blank in it: no name for any command
  world.folders.insert(source());
  EXPECT_EQ(node_disk(world), "/tmp");
}

}  // namespace
}  // namespace dllaunch
