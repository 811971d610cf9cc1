#include "launcher/daemon/database.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/a.db"; }

  TemporaryFolder folder_;
};

TEST_F(DatabaseTest, GivesBackWhatWasPutIn) {
  auto database = Database::open(path());
  ASSERT_TRUE(database) << database.error().what;
  ASSERT_TRUE(database->script("CREATE TABLE t(a, b, c, d)"));
  const std::string odd("a\0'b\n\xff", 6);
  ASSERT_TRUE(database->run("INSERT INTO t VALUES(?1, ?2, ?3, ?4)",
                            {std::int64_t{1} << 60, 0.25, odd, Cell()}));
  EXPECT_EQ(database->last_id(), 1);
  const auto rows = database->run("SELECT * FROM t WHERE c = ?1", {odd});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(whole(rows->front()[0]), std::int64_t{1} << 60);
  EXPECT_EQ(real(rows->front()[1]), 0.25);
  EXPECT_EQ(text(rows->front()[2]), odd);
  EXPECT_EQ(text(rows->front()[3]), "");
  EXPECT_FALSE(database->run("SELECT * FROM nothing"));
}

TEST_F(DatabaseTest, WhatIsNotCommittedWasNeverDone) {
  auto database = Database::open(path());
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->script("CREATE TABLE t(a)"));
  for (const bool commits : {false, true}) {
    auto transaction = Transaction::begin(*database);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(database->run("INSERT INTO t VALUES(?1)", {std::int64_t{1}}));
    if (commits) {
      EXPECT_TRUE(transaction->commit());
    }
  }
  EXPECT_EQ(database->run("SELECT * FROM t")->size(), 1u);
}

TEST_F(DatabaseTest, ItIsForOneProcessAlone) {
  auto database = Database::open(path());
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->script("CREATE TABLE t(a)"));
  const auto other = Database::open(path());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unavailable);
}

TEST_F(DatabaseTest, AProcessThatIsKilledLeavesItWhole) {
  {
    auto database = Database::open(path());
    ASSERT_TRUE(database->script("CREATE TABLE t(a)"));
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto database = Database::open(path());
    for (std::int64_t i = 0;; ++i)
      if (!database->run("INSERT INTO t VALUES(?1)", {i}) || write(ends[1], "x", 1) != 1) _exit(1);
  }
  close(ends[1]);
  // However slow the machine is: some have been written, one is being written.
  std::array<char, 20> told{};
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(read(ends[0], &told[i], 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  auto database = Database::open(path());
  ASSERT_TRUE(database) << database.error().what;
  const auto rows = database->run("SELECT a FROM t ORDER BY a");
  ASSERT_TRUE(rows);
  EXPECT_GE(rows->size(), told.size());
  EXPECT_EQ(whole(rows->back()[0]) + 1, static_cast<std::int64_t>(rows->size()));
}

TEST_F(DatabaseTest, SaysThatItIsDamaged) {
  std::ofstream(path()) << std::string(10'000, 'x');
  const auto foreign = Database::open(path());
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().kind, ErrorKind::bad_request);
  EXPECT_NE(foreign.error().what.find("is damaged"), std::string::npos) << foreign.error().what;
  EXPECT_NE(foreign.error().hint.find("mv "), std::string::npos);
}

/// A page in the middle that is overwritten is noticed at the next start.
TEST_F(DatabaseTest, FindsDamageInTheMiddle) {
  {
    auto database = Database::open(path());
    ASSERT_TRUE(database->script("CREATE TABLE t(a TEXT); CREATE INDEX i ON t(a)"));
    for (std::int64_t i = 0; i < 500; ++i)
      ASSERT_TRUE(
          database->run("INSERT INTO t VALUES(?1)", {std::string(100, 'a') + std::to_string(i)}));
  }
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5 * 4096);
    file << std::string(4096, '\x55');
  }
  EXPECT_FALSE(Database::open(path()));
}

TEST_F(DatabaseTest, NoFolderNoDatabase) {
  const auto none = Database::open(folder_.path() + "/none/a.db");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
