// The real supervisor over real processes, which fail; it waits then.
#include "launcher/supervise/hold/hold.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "launcher/supervise/supervisor_parent.hpp"
#include "tests/launcher/supervise/supervised.hpp"
#include "tests/support/other_view.hpp"
#include "tests/support/small_disk.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

RecoverySettings held(double seconds) {
  auto recovery = command_recovery(0);
  recovery.plan.hold_seconds = seconds;
  return recovery;
}

const char* const fails_until_fixed = "if [ -e fixed ]; then exit 0; fi; exit 7";

bool within_a_minute(const auto& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) usleep(10'000);
  return condition();
}

/// The run as a person on another machine has it.
RunDir elsewhere(const Supervised& place) {
  return {.path = seen_elsewhere(place.dir().path)};
}

bool is_held(const Supervised& place) {
  const auto journal = read_journal(elsewhere(place));
  return journal.decided && journal.last->next == Next::hold;
}

std::int64_t token_of(const Supervised& place) {
  return (*run_owner(elsewhere(place).path))->first;
}

int exit_code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A supervisor in a process of its own, with its parent.
pid_t start(Supervised& place, const SupervisedRun& run) {
  const pid_t child = fork();
  if (child == 0) {
    const SupervisorSignals signals(SIGUSR2);
    _exit(run_under_parent(signals, [&] { return supervise(place.system, run); }));
  }
  return child;
}

TEST(Hold, ARetryStartsTheRanksAgain) {
  Supervised place;
  std::thread person([&] {
    ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
    place.file("fixed", "");
    EXPECT_TRUE(end_hold(elsewhere(place), token_of(place), {.by = "me", .changes = "fixed"}));
  });
  EXPECT_EQ(supervise(place.system, place.run(fails_until_fixed, held(60))), 0);
  person.join();
  EXPECT_EQ(place.starts(), 2);
  const auto journal = read_journal(place.dir());
  ASSERT_TRUE(journal.retry);
  EXPECT_EQ(journal.retry->changes, "fixed");
  EXPECT_EQ(journal.before_retry, 1u);
}

/// The hold is announced, then the node book is written, which may take seconds.
TEST(Hold, ARetryMayComeBeforeItListens) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  const auto ownership = RunOwnership::take(run.path, {.host = "n1"});
  ASSERT_TRUE(ownership);
  ASSERT_TRUE(end_hold(run, ownership->fencing_token(), {.by = "me"}));
  const auto an_hour_later = std::chrono::steady_clock::now() + std::chrono::hours(1);
  const auto end = hold_for_retry(run, RunStorage(run), *ownership, an_hour_later, [](auto) {
    ADD_FAILURE() << "it waits";
    return std::optional<int>(SIGTERM);
  });
  ASSERT_TRUE(end.order);
  EXPECT_EQ(end.order->by, "me");
}

/// As NFS may show it: the bell's length is known before the order's name.
TEST(Hold, AnOrderMayBeReadableOnlyAfterItsBell) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  const auto ownership = RunOwnership::take(run.path, {.host = "n1"});
  ASSERT_TRUE(ownership);
  const auto order = fmt::format("{}/.retry/{}", run.path, ownership->fencing_token());
  ASSERT_TRUE(end_hold(run, ownership->fencing_token(), {.by = "me"}));
  std::filesystem::rename(order, order + ".away");
  const auto an_hour_later = std::chrono::steady_clock::now() + std::chrono::hours(1);
  int waits = 0;
  const auto end = hold_for_retry(run, RunStorage(run), *ownership, an_hour_later, [&](auto) {
    if (++waits == 2) std::filesystem::rename(order + ".away", order);
    return waits > 2 ? std::optional<int>(SIGTERM) : std::nullopt;
  });
  ASSERT_TRUE(end.order);
  EXPECT_EQ(end.order->by, "me");
}

/// Who gave it was killed before the bell, or there was no room for the bell's byte.
TEST(Hold, AnOrderWithoutItsBellIsFoundAfterAWhile) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  const auto ownership = RunOwnership::take(run.path, {.host = "n1"});
  ASSERT_TRUE(ownership);
  ASSERT_TRUE(end_hold(run, ownership->fencing_token(), {.by = "me"}));
  const auto bell = fmt::format("{}/.retry/{}.bell", run.path, ownership->fencing_token());
  std::filesystem::resize_file(bell, 0);
  const auto an_hour_later = std::chrono::steady_clock::now() + std::chrono::hours(1);
  int waits = 0;
  const auto end = hold_for_retry(run, RunStorage(run), *ownership, an_hour_later, [&](auto) {
    return ++waits > 100 ? std::optional<int>(SIGTERM) : std::nullopt;
  });
  ASSERT_FALSE(end.signal);
  ASSERT_TRUE(end.order);
  EXPECT_EQ(end.order->by, "me");
}

/// A moved directory, or a file system that is away: what is made in its place would be in the way
/// when it comes back.
TEST(Hold, ADirectoryThatWasMovedIsNotMadeAnewAndGoesOnWhenItIsBack) {
  Supervised place;
  place.file("plan.json", "{}");
  const auto here = place.dir().path;
  std::thread person([&] {
    ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
    const auto token = token_of(place);
    place.file("fixed", "");
    std::filesystem::rename(here, here + ".away");
    usleep(1'500'000);
    EXPECT_FALSE(std::filesystem::exists(here));
    std::filesystem::rename(here + ".away", here);
    EXPECT_TRUE(end_hold(elsewhere(place), token, {.by = "me"}));
  });
  EXPECT_EQ(supervise(place.system, place.run(fails_until_fixed, held(60))), 0);
  person.join();
  EXPECT_EQ(place.starts(), 2);
}

TEST(Hold, EndsIfItsDirectoryDoesNotComeBack) {
  Supervised place;
  place.file("plan.json", "{}");
  const auto here = place.dir().path;
  auto recovery = held(300);
  recovery.plan.stall_abort_seconds = 1;
  const auto child = start(place, place.run(fails_until_fixed, recovery));
  ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
  std::filesystem::rename(here, here + ".away");
  EXPECT_EQ(exit_code_of(child), 7);
  EXPECT_FALSE(std::filesystem::exists(here)) << "nothing is made where it was";
  std::filesystem::rename(here + ".away", here);
}

/// The allocation is kept, `status` says what is waited for, and no file is of another plan.
TEST(Hold, ADiskThatIsFullForAWhileCostsARetryNothing) {
  Supervised place;
  const SmallDisk disk(place.dir().path);
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  std::filesystem::create_directories(place.dir().out());
  const auto text_of = [&](const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::thread person([&] {
    ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
    place.file("fixed", "");
    place.file("job.yaml", "old");
    const auto order =
        RetryOrder{.by = "me",
                   .files = {{"job.yaml", "new"},
                             {"plan.json", "{\"x\": \"" + std::string(90'000, 'y') + "\"}"}}};
    ASSERT_TRUE(end_hold(elsewhere(place), token_of(place) + 1, order)) << "makes what it needs";
    disk.fill(std::size_t{32} << 10);
    const auto folder = place.dir().path + "/.retry/";
    const auto token = std::to_string(token_of(place));
    const auto stored = folder + std::to_string(token_of(place) + 1);
    std::filesystem::rename(stored, folder + token);
    std::filesystem::rename(stored + ".bell", folder + token + ".bell");
    const auto waits = [&] {
      const auto journal = read_journal(elsewhere(place));
      return journal.waits && journal.waits->reason.find("No space left") != std::string::npos;
    };
    EXPECT_TRUE(within_a_minute(waits));
    EXPECT_EQ(text_of(place.dir().job_yaml()), "old");
    EXPECT_EQ(place.starts(), 1);
    disk.free();
  });
  EXPECT_EQ(supervise(place.system, place.run(fails_until_fixed, held(60))), 0);
  person.join();
  EXPECT_EQ(place.starts(), 2);
  EXPECT_EQ(text_of(place.dir().job_yaml()), "new");
  EXPECT_EQ(read_journal(place.dir()).retry->by, "me");
}

TEST(Hold, ARetryThatItsDirectoryRefusesForGoodEndsIt) {
  Supervised place;
  const auto child = start(place, place.run(fails_until_fixed, held(300)));
  ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
  std::filesystem::create_directories(place.dir().path + "/job.yaml/folder");
  ASSERT_TRUE(
      end_hold(elsewhere(place), token_of(place), {.by = "me", .files = {{"job.yaml", "new"}}}));
  EXPECT_EQ(exit_code_of(child), 7);
  EXPECT_THAT(read_journal(place.dir()).last->reason,
              HasSubstr("; the retry failed: cannot write"));
}

/// The order itself leaves no room for what it brings.
TEST(Hold, ARetryThatWaitsForRoomGivesWayToAnotherStart) {
  Supervised place;
  const SmallDisk disk(place.dir().path);
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  std::filesystem::create_directories(place.dir().out());
  const auto child = start(place, place.run(fails_until_fixed, held(300)));
  ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
  ASSERT_TRUE(
      end_hold(elsewhere(place), token_of(place),
               {.by = "me", .files = {{"job.yaml", std::string(std::size_t{1200} << 10, 'x')}}}));
  ASSERT_TRUE(within_a_minute([&] { return read_journal(elsewhere(place)).waits.has_value(); }));
  const auto other = [&] { return bool(RunOwnership::take(place.dir().path, {.host = "n9"})); };
  ASSERT_TRUE(within_a_minute(other));
  EXPECT_EQ(exit_code_of(child), 1);
  EXPECT_EQ(read_journal(place.dir()).last->next, Next::hold) << "it writes nothing more";
}

/// No retry of one's own counts as a restart that did not help.
TEST(Hold, ARetryThatFailsIsHeldAgain) {
  Supervised place;
  std::thread person([&] {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(within_a_minute([&] { return is_held(place) && place.starts() == i + 1; }));
      if (i == 1) place.file("fixed", "");
      EXPECT_TRUE(end_hold(elsewhere(place), token_of(place), {.by = "me"}));
      ASSERT_TRUE(within_a_minute([&] { return place.starts() == i + 2; }));
    }
  });
  EXPECT_EQ(supervise(place.system, place.run(fails_until_fixed, held(60))), 0);
  person.join();
  EXPECT_EQ(place.starts(), 3);
}

TEST(Hold, EndsWithTheProgramsCodeIfNobodyComes) {
  Supervised place;
  EXPECT_EQ(supervise(place.system, place.run(fails_until_fixed, held(0.3))), 7);
  EXPECT_EQ(place.starts(), 1);
  const auto last = read_journal(place.dir()).last.value();
  EXPECT_EQ(last.next, Next::stop);
  EXPECT_EQ(last.exit_code, 7);
  EXPECT_THAT(last.reason, HasSubstr("code 7; the allocation was held, and nobody retried"));
  const auto late = end_hold(elsewhere(place), token_of(place), {.by = "me"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::unsatisfiable);
  EXPECT_TRUE(end_of_hold(place.dir(), token_of(place))->over);
}

TEST(Hold, ACancellationEndsItAtOnce) {
  Supervised place;
  const auto child = start(place, place.run(fails_until_fixed, held(300)));
  ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
  kill(child, SIGTERM);
  EXPECT_EQ(exit_code_of(child), 1);
  EXPECT_EQ(read_journal(place.dir()).last->status, RunStatus::cancelled);
}

TEST(Hold, EndsWithItsSupervisor) {
  Supervised place;
  auto run = place.run(fails_until_fixed, held(300));
  run.allocation.job = "17";
  const auto child = start(place, run);
  ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
  kill(static_cast<pid_t>((*run_owner(place.dir().path))->second.pid), SIGKILL);
  EXPECT_EQ(exit_code_of(child), 7);
  EXPECT_EQ(read_journal(place.dir()).last->next, Next::stop);
  EXPECT_EQ(place.starts(), 1);
}

TEST(Hold, EndsWhenAnotherStartOwnsTheRun) {
  Supervised place;
  const auto child = start(place, place.run(fails_until_fixed, held(300)));
  ASSERT_TRUE(within_a_minute([&] { return is_held(place); }));
  ASSERT_TRUE(RunOwnership::take(place.dir().path, {.host = "n9"}));
  EXPECT_EQ(exit_code_of(child), 1);
  EXPECT_EQ(read_journal(place.dir()).last->next, Next::hold) << "it writes nothing more";
}

}  // namespace
}  // namespace dllaunch
