#include "launcher/staging/stage_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/fake_system.hpp"
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
  std::string folder() const { return here_.path() + "/dllaunch-stage-7-ab"; }
  std::string staged(const std::string& name) const {
    std::ifstream file(folder() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void shell(const std::string& line) {
    const auto done =
        system_.run({"bash", "-c", "cd \"$0\" && " + line, here_.path()}, std::chrono::minutes(1));
    ASSERT_TRUE(done && done->exit_code == 0) << (done ? done->err : done.error().what);
  }
  Result<Ok> stage(const std::vector<std::string>& sources, const std::string& run_dir = "") {
    return stage_on_this_node(system_,
                              {.folder = folder(), .sources = sources, .run_dir = run_dir});
  }

  /// The folder as a broadcast leaves it.
  void make_with_parcels() {
    ASSERT_TRUE(make_stage_folder(system_, folder()));
    ASSERT_TRUE(make_parcel_folder(system_, folder()));
    shell(
        "tar -cf 'dllaunch-stage-7-ab/.parcels/source-data set' --transform s,one,sent, -C 'data "
        "set' . && mkdir -p p/bin && echo x > p/bin/dltrain && tar -cf "
        "dllaunch-stage-7-ab/.parcels/programs -C p .");
  }
  StageRequest with_parcels(const std::vector<std::string>& names) const {
    StageRequest request{.folder = folder(), .made = true, .sources = {source()}};
    for (const auto& name : names)
      request.parcels.push_back({name, *file_checksum(parcel_path(folder(), name))});
    return request;
  }

  const TemporaryFolder here_;
  PosixSystem system_{Console{}};
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
  if (!system_.find_program("zip") || !system_.find_program("zstd"))
    GTEST_SKIP() << "no zip or no zstd here";
  shell("(cd 'data set' && zip -qr ../z.zip .) && tar --zstd -cf s.tar.zst -C 'data set' .");
  ASSERT_TRUE(stage({here_.path() + "/z.zip", here_.path() + "/s.tar.zst"}));
  EXPECT_EQ(staged("z/one"), "1");
  EXPECT_EQ(staged("s/one"), "1");
}

TEST_F(StageNode, ParcelsComeBeforeTheSource) {
  make_with_parcels();
  const auto request = with_parcels({"source-data set", "programs"});
  const auto done = stage_on_this_node(system_, request);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(staged("data set/sent"), "1");
  EXPECT_EQ(staged("data set/one"), "");
  EXPECT_EQ(staged(".dllaunch/bin/dltrain"), "x\n");
  EXPECT_FALSE(fs::exists(parcel_folder(folder())));
}

/// The names are no secret, and /tmp is everybody's.
TEST_F(StageNode, WhatTheJobDidNotSendIsNotUnpacked) {
  shell(
      "mkdir evil && echo -n bad > evil/one && tar -cf 'dllaunch-stage-7-ab.data set.parcel' -C "
      "evil . && tar -cf dllaunch-stage-7-ab.programs -C evil .");
  ASSERT_TRUE(stage({source()}));
  EXPECT_EQ(staged("data set/one"), "1");
  EXPECT_EQ(staged(".dllaunch/one"), "");
  ASSERT_TRUE(remove_stage(folder()));
  // In the folder itself, but not of this start: no checksum was given.
  make_with_parcels();
  ASSERT_TRUE(
      stage_on_this_node(system_, {.folder = folder(), .made = true, .sources = {source()}}));
  EXPECT_EQ(staged("data set/one"), "1");
  EXPECT_FALSE(fs::exists(folder() + "/.dllaunch/bin"));
}

TEST_F(StageNode, AParcelThatArrivedOtherwiseThanItWasSentIsRefused) {
  make_with_parcels();
  auto request = with_parcels({"source-data set", "programs"});
  shell("echo more >> 'dllaunch-stage-7-ab/.parcels/source-data set'");
  const auto done = stage_on_this_node(system_, request);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("the copy differs from the source"));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(StageNode, AFolderThatAnotherMadeIsNeverAdopted) {
  fs::create_directory(folder());
  const auto taken = stage({source()});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().what, HasSubstr("cannot make " + folder() + ": File exists"));
  EXPECT_TRUE(fs::is_empty(folder()));
  const auto refused = [this](const std::string& why) {
    const auto filled =
        stage_on_this_node(system_, {.folder = folder(), .made = true, .sources = {source()}});
    const auto removed = remove_stage(folder());
    EXPECT_TRUE(!filled && filled.error().what.find(why) != std::string::npos) << why;
    EXPECT_TRUE(!removed && removed.error().what.find(why) != std::string::npos) << why;
  };
  fs::permissions(folder(), fs::perms::owner_all | fs::perms::others_read);
  refused("other users can read or write it");
  fs::permissions(folder(), fs::perms::owner_all);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder().c_str(), 65534, 65534), 0);
    refused("it is another user's");
  }
  fs::remove(folder());
  fs::create_directory_symlink(source(), folder());
  refused("cannot be used for staging: ");
  EXPECT_TRUE(fs::exists(source() + "/one"));
}

/// Where others may rename the folder, its mode protects nothing: each node looks for itself.
TEST_F(StageNode, ADiskOnWhichOthersRenameIsRefused) {
  shell("chmod 777 .");
  const auto refused = stage({source()});
  shell("chmod 1777 .");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("has no sticky bit"));
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_TRUE(stage({source()}));
}

TEST_F(StageNode, TheTrainersInputKnowsTheFolder) {
  std::ofstream(here_.path() + "/train.json") << R"({"path": "{stage}/data set"})";
  ASSERT_TRUE(stage({}, here_.path()));
  EXPECT_EQ(staged(".dllaunch/train.json"), R"({"path": ")" + folder() + R"(/data set"})");
}

/// Of a node that lost power, say; another job's are left alone.
TEST_F(StageNode, WhatAnEarlierStartOfTheJobLeftIsRemoved) {
  shell(
      "mkdir -m 700 dllaunch-stage-7-cd dllaunch-stage-77-ab dllaunch-stage-7 && mkdir -m 500 "
      "dllaunch-stage-7-cd/data");
  ASSERT_TRUE(stage({source()}));
  EXPECT_FALSE(fs::exists(here_.path() + "/dllaunch-stage-7-cd"));
  EXPECT_TRUE(fs::exists(here_.path() + "/dllaunch-stage-77-ab"));
  EXPECT_EQ(staged("data set/one"), "1");
}

TEST_F(StageNode, AFailureNamesTheNodeAndLeavesNothing) {
  std::ofstream(here_.path() + "/broken.tar") << "no archive";
  const auto broken = stage({source(), here_.path() + "/broken.tar"});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().what, HasSubstr(system_.host_name() + ": cannot unpack " +
                                             here_.path() + "/broken.tar: tar"));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(StageNode, AFullDiskIsSaidSo) {
  FakeSystem system;
  system.host = "n7";
  system.respond = [](const std::vector<std::string>&) {
    return Result<CommandOutput>(
        CommandOutput{1, "", "cp: error writing 'x': No space left on device\nmore\n"});
  };
  const auto full = stage_on_this_node(system, {.folder = folder(), .sources = {"/scratch/big"}});
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().what,
              HasSubstr("n7: cannot copy /scratch/big: cp: error writing 'x': No "
                        "space left on device ("));
  EXPECT_THAT(full.error().what, HasSubstr(" GiB free on " + here_.path()));
  EXPECT_THAT(full.error().hint, HasSubstr("TMPDIR"));
}

TEST_F(StageNode, RemovesReadOnlyFoldersAndNothingElse) {
  ASSERT_TRUE(stage({source()}));
  chmod((folder() + "/data set/deep").c_str(), 0500);
  fs::create_directories(folder() + "7");
  ASSERT_TRUE(remove_stage(folder()));
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_TRUE(fs::exists(folder() + "7"));
  EXPECT_TRUE(remove_stage(folder()));
  EXPECT_FALSE(remove_stage(source()));
  EXPECT_TRUE(fs::exists(source()));
}

TEST_F(StageNode, TheDiskIsTheSitesThenTheUsersThenTmp) {
  FakeSystem system;
  EXPECT_EQ(node_disk(system), "/tmp");
  system.folders = {here_.path(), here_.path() + "/own", "/proc/1"};
  fs::create_directories(here_.path() + "/own");
  system.variables = {{"TMPDIR", here_.path() + "/"}};
  EXPECT_EQ(node_disk(system), here_.path());
  system.variables["SLURM_TMPDIR"] = here_.path() + "/own";
  EXPECT_EQ(node_disk(system), here_.path() + "/own");
  system.variables["SLURM_TMPDIR"] = "/not/there";
  EXPECT_EQ(node_disk(system), here_.path());
  // Its owner, or any user who may write there, could replace our folder.
  fs::permissions(here_.path(), static_cast<fs::perms>(0755));  // others come to what is below
  fs::permissions(here_.path() + "/own", fs::perms::all);
  system.variables["SLURM_TMPDIR"] = here_.path() + "/own";
  std::string passed_over;
  EXPECT_EQ(node_disk(system, &passed_over), here_.path());
  EXPECT_EQ(passed_over, "SLURM_TMPDIR=" + here_.path() + "/own: " + here_.path() +
                             "/own can be written by others and has no sticky bit");
  fs::permissions(here_.path() + "/own", fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(node_disk(system), here_.path() + "/own");
  system.variables = {{"TMPDIR", source()}};  // a blank in it: no name for any command
  system.folders.insert(source());
  EXPECT_EQ(node_disk(system), "/tmp");
}

}  // namespace
}  // namespace dllaunch
