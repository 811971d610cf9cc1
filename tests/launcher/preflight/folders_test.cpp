#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json folder(double free_bytes, const std::string& error = "") {
  return {{"path", "/scratch/run"},
          {"error", error},
          {"seconds", 0.01},
          {"total_bytes", 1e12},
          {"free_bytes", free_bytes}};
}

TEST(PreflightFolders, HaveRoomForWhatTheJobNeeds) {
  const PreflightRequest request{
      .folders = {{.what = "checkpoints", .path = "/scratch/run", .bytes = 3ULL << 30}}};
  EXPECT_EQ(judged("folders", request, {sample("n1", folder(4e9), "checkpoints")}),
            Words{"n1 checkpoints ok"});
  EXPECT_EQ(judged("folders", request, {sample("n1", folder(3e9), "checkpoints")}),
            Words{"n1 checkpoints fail: the job needs 3.0 GiB there"});
  EXPECT_EQ(judged("folders", request, {sample("n1", folder(3e9), "TMPDIR")}),
            Words{"n1 TMPDIR ok"});
  EXPECT_EQ(judged("folders", request, {sample("n1", folder(6e7), "TMPDIR")}),
            Words{"n1 TMPDIR fail: less than 64 MiB free"});
}

TEST(PreflightFolders, MustTakeAFileSoon) {
  EXPECT_EQ(
      judged("folders", {}, {sample("n2", folder(4e9, "create: Read-only file system"), "TMPDIR")}),
      Words{"n2 TMPDIR fail: cannot write there: create: Read-only file system"});
  auto slow = folder(4e9);
  slow["seconds"] = 1.7;
  EXPECT_EQ(judged("folders", {}, {sample("n2", slow, "TMPDIR")}),
            Words{"n2 TMPDIR warn: 256 KiB took 1.7 s to write"});
  auto few = folder(4e9);
  few["free_files"] = 12;
  EXPECT_EQ(judged("folders", {}, {sample("n2", few, "TMPDIR")}),
            Words{"n2 TMPDIR warn: only 12 more files can be made"});
}

/// A path may hold any of the words that an explanation has.
TEST(PreflightFolders, TheFixIsByTheErrorNotByItsText) {
  const auto fix = [](int error) {
    auto seen = folder(4e9, "create: /free/files/quota: something");
    seen["errno"] = error;
    return check_named("folders").judge({}, {sample("n1", seen, "TMPDIR")}).at(0).result.fix;
  };
  EXPECT_THAT(fix(EROFS), HasSubstr("tell the administrators"));
  EXPECT_THAT(fix(ENOSPC), HasSubstr("remove what is not needed"));
  EXPECT_THAT(fix(EDQUOT), HasSubstr("your quota"));
  EXPECT_THAT(fix(EACCES), HasSubstr("make the folder writable"));
}

TEST(PreflightFolders, AreThoseOfTheRequestAndTheNodesOwn) {
  FakeSystem system;
  const PreflightRequest request{.folders = {{.what = "run directory", .path = "/run"}}};
  EXPECT_THAT(check_named("folders").items({request, system, "n1"}),
              ElementsAre("run directory", "TMPDIR", "staging"));
}

TEST(PreflightFolders, ThatAreNotThereYetAreTriedWhereTheyWillBe) {
  const TemporaryFolder place;
  FakeSystem system;
  system.variables["TMPDIR"] = place.path();
  const PreflightRequest request{
      .folders = {{.what = "checkpoints", .path = place.path() + "/run/checkpoints"}}};
  const NodeView view{request, system, "n1"};
  const auto seen = check_named("folders").observe(view, "checkpoints");
  ASSERT_TRUE(seen);
  EXPECT_EQ(text_of(*seen, "path"), place.path() + "/run/checkpoints");
  EXPECT_EQ(text_of(*seen, "error"), "");
  EXPECT_GT(number_of(*seen, "free_bytes"), 0);
  EXPECT_TRUE(std::filesystem::is_empty(place.path()));

  const auto own = check_named("folders").observe(view, "TMPDIR");
  EXPECT_EQ(text_of(*own, "path"), place.path());
  std::ofstream(place.path() + "/run") << "a file";
  const auto taken = check_named("folders").observe(view, "checkpoints");
  EXPECT_THAT(text_of(*taken, "error"), HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace dllaunch
