#include "launcher/sweep/optuna_journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class OptunaJournalFile : public testing::Test {
 protected:
  OptunaJournal open() {
    auto journal = OptunaJournal::open(path_, "job", false);
    EXPECT_TRUE(journal) << journal.error().what;
    return *std::move(journal);
  }
  std::string text() {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Json trial() {
    const auto space = *read_space({.parameters = Json::parse(R"({"x": {"linear": [0, 1]}})")});
    Trial one{.number = 0};
    one.parameters = {{"x", 0.5}};
    return trial_record(space, one, 0, 0);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/optuna.journal";
};

TEST_F(OptunaJournalFile, KeepsTrialsForTheNextDriver) {
  {
    auto journal = open();
    const Json made = trial();
    ASSERT_TRUE(journal.append({&made, 1}));
    ASSERT_EQ(journal.replay().trials().size(), 1U);
  }
  EXPECT_EQ(open().replay().trials().size(), 1U);
  EXPECT_EQ(std::ranges::count(text(), '\n'), 2);
}

/// What a power loss left of a line is removed, before and while a driver works.
TEST_F(OptunaJournalFile, ATornLineIsRemoved) {
  const auto tear = [&] { std::ofstream(path_, std::ios::app) << "{\"op_code\":4,\"stu"; };
  auto journal = open();
  for (const int trials : {1, 2}) {
    tear();
    if (trials == 2) (void)journal.read();  // also where its beginning was seen already
    const Json made = trial();
    ASSERT_TRUE(journal.append({&made, 1}));
    EXPECT_EQ(journal.replay().trials().size(), static_cast<std::size_t>(trials));
    EXPECT_EQ(text().find("\"stu{"), std::string::npos);
  }
  tear();
  EXPECT_EQ(open().replay().trials().size(), 2U);
}

TEST_F(OptunaJournalFile, ThatBecameShorterOrIsGoneIsNotContinued) {
  const Json made = trial();
  for (const bool gone : {false, true}) {
    auto journal = open();
    ASSERT_TRUE(journal.append({&made, 1}));
    const auto before = text();
    const auto cut = before.substr(0, before.find('\n') + 1);
    if (gone) {
      std::filesystem::remove(path_);
    } else {
      std::ofstream(path_) << cut;
    }
    for (const auto& done : {journal.read(), journal.append({&made, 1})}) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().what, path_ + " has become shorter: another program changed it");
    }
    EXPECT_EQ(text(), gone ? "" : cut) << "nothing was written";
    std::ofstream(path_) << before;
  }
}

TEST_F(OptunaJournalFile, WaitsForTheLockOfAnotherProgramAndRemovesItsOwn) {
  auto journal = open();
  ASSERT_EQ(symlink(path_.c_str(), (path_ + ".lock").c_str()), 0);  // Optuna's
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::ofstream(path_, std::ios::app) << trial().dump() << "\n";
    unlink((path_ + ".lock").c_str());
  });
  const Json made = trial();
  ASSERT_TRUE(journal.append({&made, 1}));
  other.join();
  EXPECT_EQ(journal.replay().trials().size(), 2U) << "the other's trial is read, too";

  const auto killed = folder_.path() + "/./optuna.journal";
  ASSERT_EQ(symlink(killed.c_str(), (path_ + ".lock").c_str()), 0);
  EXPECT_EQ(open().replay().trials().size(), 2U);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(open().append({&made, 1}));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST_F(OptunaJournalFile, SaysThatItWaitsForALock) {
  std::string said;
  std::promise<void> waits;
  auto journal = OptunaJournal::open(path_, "job", false, [&](const std::string& words) {
    said += words;
    waits.set_value();
  });
  ASSERT_TRUE(journal);
  const std::string lock = path_ + ".lock";
  ASSERT_EQ(symlink(path_.c_str(), lock.c_str()), 0);
  std::thread other([&] {
    waits.get_future().wait_for(std::chrono::seconds(60));
    unlink(lock.c_str());
  });
  const Json made = trial();
  EXPECT_TRUE(journal->append({&made, 1}));
  other.join();
  EXPECT_EQ(said,
            "waiting for the lock of " + path_ + ": another program writes it, or was killed\n");
}

TEST_F(OptunaJournalFile, RemovesTheLockOfAnOptunaThatWasKilled) {
  const std::string lock = path_ + ".lock";
  const auto there = [&] { return std::filesystem::is_symlink(lock); };
  const auto ours = folder_.path() + "/./optuna.journal";
  timespec now{};
  ASSERT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
  const timespec before{now.tv_sec - 100, 0};
  const timespec after{now.tv_sec + 100, 0};
  remove_lock_of_killed(path_, before);
  ASSERT_EQ(symlink(path_.c_str(), lock.c_str()), 0);
  remove_lock_of_killed(path_, after);
  EXPECT_TRUE(there()) << "it was there before";
  remove_lock_of_killed(path_, before);
  EXPECT_FALSE(there());
  ASSERT_EQ(symlink(ours.c_str(), lock.c_str()), 0);
  remove_lock_of_killed(path_, before);
  EXPECT_TRUE(there()) << "the driver's own";
}

TEST_F(OptunaJournalFile, SaysWhenItCannotWrite) {
  const auto journal = OptunaJournal::open(folder_.path() + "/none/optuna.journal", "job", false);
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
