#include "launcher/daemon/run_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

class RunTextTest : public testing::Test {
 protected:
  RunTextTest() : dir_{.path = folder_.path() + "/run"} {
    fs::create_directories(dir_.out());
    std::ofstream(dir_.out() + "/rank-0000-n1.log") << "0123456789";
    std::ofstream(dir_.path + "/slurm-7.out") << "batch";
    std::ofstream(dir_.path + "/job.yaml") << "name: secret";
    std::ofstream(folder_.path() + "/secret.log") << "secret";
  }
  std::string log(const std::string& name, std::int64_t from = 0, std::uint64_t limit = 100) {
    const auto part = read_log(dir_, name, from, limit);
    return part ? part->text : "error: " + part.error().what;
  }

  TemporaryFolder folder_;
  RunDir dir_;
};

TEST_F(RunTextTest, PartsOfALog) {
  EXPECT_EQ(log("rank-0000-n1.log"), "0123456789");
  EXPECT_EQ(log("rank-0000-n1.log", 4), "456789");
  EXPECT_EQ(log("rank-0000-n1.log", 4, 3), "456");
  EXPECT_EQ(log("rank-0000-n1.log", -3), "789");
  EXPECT_EQ(log("rank-0000-n1.log", -300), "0123456789");
  EXPECT_EQ(log("rank-0000-n1.log", 300), "");
  EXPECT_EQ(log("rank-0000-n1.log", INT64_MIN), "0123456789");
  EXPECT_EQ(log("rank-0000-n1.log", INT64_MAX), "");
  EXPECT_EQ(log("slurm-7.out"), "batch");
  const auto part = read_log(dir_, "rank-0000-n1.log", -3, 100);
  EXPECT_EQ(part->from, 7u);
  EXPECT_EQ(part->bytes, 10u);
}

TEST_F(RunTextTest, AFolderThatIsALinkIsNotFollowed) {
  fs::create_directories(folder_.path() + "/elsewhere");
  std::ofstream(folder_.path() + "/elsewhere/key") << "secret";
  fs::remove_all(dir_.out());
  fs::create_directory_symlink(folder_.path() + "/elsewhere", dir_.out());
  EXPECT_THAT(log_names(dir_), testing::ElementsAre("slurm-7.out"));
  EXPECT_THAT(log("key"), testing::HasSubstr("error"));
  EXPECT_EQ(log("slurm-7.out"), "batch");
}

TEST_F(RunTextTest, ANameIsNeverAPath) {
  std::ofstream(dir_.out() + "/.hidden") << "secret";
  for (const char* name :
       {"", ".", "..", "../../secret.log", "../job.yaml", "job.yaml", "/etc/passwd", ".hidden",
        "../out/rank-0000-n1.log", "rank-0000-n1.log/", "./rank-0000-n1.log", "rank-0000-n1.log\n"})
    EXPECT_EQ(log(name), "error: the run has no log of that name") << name;
  EXPECT_EQ(log(std::string("rank-0000-n1.log\0", 17)), "error: the run has no log of that name");
}

TEST_F(RunTextTest, OnlyPlainFilesAreRead) {
  fs::create_symlink(folder_.path() + "/secret.log", dir_.out() + "/link.log");
  fs::create_directory(dir_.out() + "/folder.log");
  ASSERT_EQ(mkfifo((dir_.out() + "/pipe.log").c_str(), 0600), 0);
  for (const char* name : {"link.log", "folder.log", "pipe.log"})
    EXPECT_TRUE(log(name).starts_with("error: cannot read")) << name << ": " << log(name);
  EXPECT_THAT(log_names(dir_), testing::ElementsAre("folder.log", "link.log", "pipe.log",
                                                    "rank-0000-n1.log", "slurm-7.out"));
}

TEST_F(RunTextTest, NeverMoreThanAMegabyte) {
  std::ofstream(dir_.out() + "/big.log") << std::string(3 << 20, 'x');
  EXPECT_EQ(log("big.log", 0, UINT64_MAX).size(), most_text_bytes);
}

TEST_F(RunTextTest, EventsAreWholeLines) {
  std::ofstream(dir_.events()) << "{\"a\": 1}\n{\"b\": 2}\n{\"c\"";
  EXPECT_EQ(read_events(dir_, 0, 100)->text, "{\"a\": 1}\n{\"b\": 2}\n");
  EXPECT_EQ(read_events(dir_, 9, 100)->text, "{\"b\": 2}\n");
  EXPECT_EQ(read_events(dir_, 0, 12)->text, "{\"a\": 1}\n");
  fs::remove(dir_.events());
  EXPECT_EQ(read_events(dir_, 0, 100).error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
