#include "runtime/rank/run_ownership.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const RunOwner owner = {
    .host = "n3", .pid = 4711, .job = "17", .restart = 2, .since = 1700000000.5};

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(RunOwnership, CountsFromOneAndFencesThePreviousOwner) {
  TemporaryFolder run;
  auto first = RunOwnership::take(run.path(), {.host = "n1", .pid = 12});
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->fencing_token(), 1);
  EXPECT_TRUE(first->check());

  auto second = RunOwnership::take(run.path(), owner);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(second->fencing_token(), 2);
  EXPECT_TRUE(second->check());
  const auto fenced = first->check();
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(fenced.error().what,
            "run directory was taken over by job 17 on n3 (fencing token 2, ours is 1)");
}

TEST(RunOwnership, NamesTheOwner) {
  TemporaryFolder run;
  auto none = run_owner(run.path());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  ASSERT_TRUE(RunOwnership::take(run.path(), owner));
  auto found = run_owner(run.path());
  ASSERT_TRUE(found && *found);
  const auto& [fencing_token, who] = **found;
  EXPECT_EQ(fencing_token, 1);
  EXPECT_EQ(who.host, "n3");
  EXPECT_EQ(who.pid, 4711);
  EXPECT_EQ(who.job, "17");
  EXPECT_EQ(who.restart, 2);
  EXPECT_DOUBLE_EQ(who.since, 1700000000.5);
  EXPECT_EQ(to_string(who), "job 17 on n3");
  EXPECT_EQ(to_string({.host = "n3", .pid = 9}), "process 9 on n3");
}

TEST(RunOwnership, ToldMakesNothingAndSeesTheSame) {
  TemporaryFolder run;
  const RunOwnership told = RunOwnership::told(run.path(), 3);
  EXPECT_TRUE(told.check());
  EXPECT_TRUE(fs::is_empty(run.path()));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(RunOwnership::take(run.path(), owner));
  EXPECT_TRUE(told.check());
  ASSERT_TRUE(RunOwnership::take(run.path(), {.host = "n4", .pid = 5}));
  EXPECT_EQ(told.check().error().what,
            "run directory was taken over by process 5 on n4 (fencing token 4, ours is 3)");
}

TEST(RunOwnership, IsAboveTheGivenToken) {
  TemporaryFolder run;
  EXPECT_EQ(RunOwnership::take(run.path(), owner, 41)->fencing_token(), 42);
  EXPECT_EQ(RunOwnership::take(run.path(), owner, 41)->fencing_token(), 43);
  EXPECT_EQ(RunOwnership::take(run.path(), owner, 0)->fencing_token(), 44);
  const auto none = RunOwnership::take(run.path(), owner, 1'000'000'000'000);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what,
              HasSubstr("/.lease/1000000000000 is not a fencing token of a run"));
}

TEST(RunOwnership, KeepsOnlyTheNewestNamesAndNoTemporaryOnes) {
  TemporaryFolder run;
  const fs::path folder = fs::path(run.path()) / ".lease";
  fs::create_directory(folder);
  write_text(folder / ".tmp-old", "");
  const auto hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(folder / ".tmp-old", hours_ago);
  write_text(folder / ".tmp-new", "");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(RunOwnership::take(run.path(), owner));
  EXPECT_EQ(names_in(folder),
            (std::set<std::string>{".tmp-new", "93", "94", "95", "96", "97", "98", "99", "100"}));
  EXPECT_EQ(RunOwnership::take(run.path(), owner)->fencing_token(), 101);
  // However far behind: an orphan of the first incarnation is fenced.
  EXPECT_FALSE(RunOwnership::told(run.path(), 1).check());
}

TEST(RunOwnership, EmptyNamesCountAndForeignOnesDoNot) {
  TemporaryFolder run;
  const fs::path folder = fs::path(run.path()) / ".lease";
  fs::create_directory(folder);
  for (const char* name : {"0", "-4", "+5", "007", "8 ", "9x", "1e3", "note.txt", "0x10",
                           "1000000000001", "99999999999999999999999999", "."}) {
    if (std::string(name) != ".") write_text(folder / name, "host evil\n");
  }
  EXPECT_FALSE(*run_owner(run.path()));
  EXPECT_EQ(RunOwnership::take(run.path(), owner)->fencing_token(), 1);

  write_text(folder / "2", "");                          // killed between the name and its content
  fs::create_directory(folder / "3");                    // not one of ours
  fs::create_symlink("/etc/passwd", folder / "4");       // must not be followed
  ASSERT_EQ(::mkfifo((folder / "5").c_str(), 0644), 0);  // must not be waited for
  for (std::int64_t ours = 1; ours < 5; ++ours) {
    EXPECT_EQ(RunOwnership::told(run.path(), ours).check().error().what,
              "run directory was taken over by another dllaunch (fencing token 5, ours is " +
                  std::to_string(ours) + ")");
  }
  EXPECT_EQ(RunOwnership::take(run.path(), owner)->fencing_token(), 6);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(RunOwnership::take(run.path(), owner));
  for (const char* name : {"2", "3", "4", "5"}) {
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder / name))) << name;
  }
  EXPECT_TRUE(fs::exists(folder / "note.txt"));
}

TEST(RunOwnership, TheHighestNumberIsAnError) {
  TemporaryFolder run;
  fs::create_directory(fs::path(run.path()) / ".lease");
  write_text(fs::path(run.path()) / ".lease" / "1000000000000", "");
  const auto taken = RunOwnership::take(run.path(), owner);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().what,
              HasSubstr("/.lease/1000000000000 is not a fencing token of a run"));
}

TEST(RunOwnership, ADirectoryThatIsNotThereOrRefusesIsAnError) {
  TemporaryFolder run;
  const auto missing = RunOwnership::take(run.path() + "/missing", owner);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(missing.error().what, HasSubstr("No such file or directory"));

  // A file in place of the folder means neither "not owned" nor "taken over".
  write_text(fs::path(run.path()) / ".lease", "");
  EXPECT_EQ(RunOwnership::take(run.path(), owner).error().kind, ErrorKind::unavailable);
  EXPECT_EQ(RunOwnership::told(run.path(), 1).check().error().kind, ErrorKind::unavailable);
  EXPECT_EQ(run_owner(run.path()).error().kind, ErrorKind::unavailable);
}

TEST(RunOwnership, MessagesAreOneShortLineForAnyOwner) {
  TemporaryFolder run;
  const fs::path folder = fs::path(run.path()) / ".lease";
  fs::create_directory(folder);
  std::mt19937 random(7);
  const std::string whole = "host n3\npid 4711\njob 17\nrestart 2\nsince 1700000000.500\n";
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    switch (i % 4) {
      case 0:  // torn
        text.resize(random() % text.size());
        break;
      case 1:  // bytes changed
        for (int k = 0; k < 5; ++k) text[random() % text.size()] = static_cast<char>(random());
        break;
      case 2:  // noise
        text.assign(random() % 9000, '\0');
        for (char& c : text) c = static_cast<char>(random());
        break;
      default:  // huge or invalid values
        text = "host " + std::string(random() % 100'000, 'h') + "\npid -" + std::string(40, '9') +
               "\nsince inf\nrestart 99999999999999\njob \033[2J\n";
    }
    write_text(folder / "2", text);
    const auto found = run_owner(run.path());
    ASSERT_TRUE(found && *found);
    ASSERT_EQ((*found)->first, 2);
    const RunOwner& who = (*found)->second;
    ASSERT_GE(who.pid, 0);
    ASSERT_GE(who.restart, 0);
    ASSERT_TRUE(who.since >= 0 && who.since < 1e300);
    const auto fenced = RunOwnership::told(run.path(), 1).check();
    ASSERT_FALSE(fenced);
    ASSERT_LE(fenced.error().what.size(), 700u);
    for (const char c : fenced.error().what) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << int(c);
  }
}

/// An owner's description is read back as written, whatever it is.
TEST(RunOwnership, AnOwnerOfAnyNameIsReadBackAsALine) {
  TemporaryFolder run;
  ASSERT_TRUE(RunOwnership::take(run.path(), {.host = "bad\nhost 7\n", .pid = 1, .job = "a b"}));
  const auto found = run_owner(run.path());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->second.host, "bad?host?7?");
  EXPECT_EQ((*found)->second.job, "a?b");
  EXPECT_EQ((*found)->second.pid, 1);
}

/// Processes that concurrently take the directory again and again; returns what each got.
std::vector<std::int64_t> take_at_once(const std::string& run, int processes, int times) {
  std::vector<std::int64_t> taken;
  int ends[2] = {};
  if (::pipe(ends) != 0) return taken;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int k = 0; k < times; ++k) {
        auto ownership =
            RunOwnership::take(run, {.host = "n" + std::to_string(i), .pid = ::getpid()});
        const std::int64_t got = ownership ? ownership->fencing_token() : -1;
        if (::write(ends[1], &got, sizeof got) != sizeof got) ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  ::close(ends[1]);
  for (std::int64_t got = 0; ::read(ends[0], &got, sizeof got) == sizeof got;) taken.push_back(got);
  ::close(ends[0]);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return taken;
}

TEST(RunOwnership, ManyProcessesAtOnceGetDifferentGenerations) {
  TemporaryFolder run;
  constexpr int processes = 16;
  constexpr int times = 25;  // far more than names are kept, so clean-ups interfere
  const auto taken = take_at_once(run.path(), processes, times);
  ASSERT_EQ(taken.size(), static_cast<std::size_t>(processes * times));
  const std::set<std::int64_t> different(taken.begin(), taken.end());
  EXPECT_EQ(different.size(), taken.size());
  EXPECT_GE(*different.begin(), 1);
  const auto found = run_owner(run.path());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->first, *different.rbegin()) << "the highest name must have an owner";
  for (const std::int64_t one : taken) {
    EXPECT_EQ(static_cast<bool>(RunOwnership::told(run.path(), one).check()),
              one == *different.rbegin());
  }
  EXPECT_LE(names_in(fs::path(run.path()) / ".lease").size(), 8u);
}

/// Takers that are stopped at any moment and continue much later, when their number is long gone.
TEST(RunOwnership, ATakerThatSleptNeverReusesANumber) {
  TemporaryFolder run;
  std::mt19937 random(11);
  std::set<std::int64_t> had;
  for (int i = 0; i < 60; ++i) {
    int ends[2] = {};
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t sleeper = ::fork();
    if (sleeper == 0) {
      auto ownership = RunOwnership::take(run.path(), owner);
      const std::int64_t got = ownership ? ownership->fencing_token() : -1;
      ::_exit(::write(ends[1], &got, sizeof got) == sizeof got ? 0 : 1);
    }
    ::close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
    ::kill(sleeper, SIGSTOP);
    for (int k = 0; k < 12; ++k) {
      auto ownership = RunOwnership::take(run.path(), {.host = "n1", .pid = 1});
      ASSERT_TRUE(ownership) << ownership.error().what;
      EXPECT_TRUE(had.insert(ownership->fencing_token()).second) << ownership->fencing_token();
    }
    ::kill(sleeper, SIGCONT);
    std::int64_t got = -1;
    ASSERT_EQ(::read(ends[0], &got, sizeof got), static_cast<ssize_t>(sizeof got));
    ::close(ends[0]);
    ::waitpid(sleeper, nullptr, 0);
    EXPECT_TRUE(had.insert(got).second) << got << " was had before";
  }
}

/// Without space for the content only the name is created; no temporary file stays.
TEST(RunOwnership, AFullDiskDoesNotHinderARestart) {
  TemporaryFolder run;
  const std::string folder = run.path() + "/small";
  fs::create_directory(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    // Writing beyond the limit fails as on a full disk; creating names does not.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    auto ownership = RunOwnership::take(folder, owner);
    ::_exit(ownership && ownership->fencing_token() == 1 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names_in(folder + "/.lease"), std::set<std::string>{"1"});
  EXPECT_EQ((*run_owner(folder))->second.host, "");
}

TEST(FencingToken, IsAWholeNumberFromOne) {
  EXPECT_EQ(parse_fencing_token("1"), 1);
  EXPECT_EQ(parse_fencing_token("1000000000000"), 1'000'000'000'000);
  for (const char* text : {"", "0", "-1", "+1", " 1", "1 ", "01", "1.0", "x", "1000000000001",
                           "99999999999999999999"}) {
    EXPECT_FALSE(parse_fencing_token(text)) << text;
  }
}

}  // namespace
}  // namespace dllaunch
