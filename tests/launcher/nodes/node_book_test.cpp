#include "launcher/nodes/node_book.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "support/random.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/other_view.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tier.hpp"

namespace {

/// What a file system does on the book's disk instead of rename().
int (*renames)(const char* from, const char* to) = nullptr;

int rename_at_once(const char* from, const char* to) {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  return (renames != nullptr ? renames : rename_at_once)(from, to);
}

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr double now = 1'800'000'000;
constexpr std::size_t never = std::size_t{1} << 40;

NodeSighting late_of(const std::string& node) {
  return {
      .time = now, .kind = SightingKind::late, .cluster = "c", .nodes = node, .value = 1, .of = 2};
}
NodeSighting failure_of(const std::string& node) {
  return {.time = now, .kind = SightingKind::failed, .nodes = node, .value = 1, .words = "it died"};
}
std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::vector<NodeSighting> all_in(const NodeBook& book) {
  const auto read = read_node_book(book);
  EXPECT_TRUE(read);
  return read ? read->all : std::vector<NodeSighting>();
}

struct Place {
  TemporaryFolder folder;
  NodeBook book{folder.path() + "/state/dllaunch/nodes.jsonl"};
};

TEST(NodeBook, IsTheUsersTheSitesOrAsTheVariableSays) {
  FakeSystem system;
  EXPECT_FALSE(find_node_book(system, ""));
  system.variables["XDG_STATE_HOME"] = "/s";
  EXPECT_EQ(find_node_book(system, "")->path, "/s/dllaunch/nodes.jsonl");
  EXPECT_TRUE(find_node_book(system, "")->own);
  EXPECT_EQ(find_node_book(system, "/group/nodes.jsonl")->path, "/group/nodes.jsonl");
  EXPECT_FALSE(find_node_book(system, "/group/nodes.jsonl")->own);
  system.variables[node_book_variable] = "/mine";
  EXPECT_EQ(find_node_book(system, "/group/nodes.jsonl")->path, "/mine");
  system.variables[node_book_variable] = "";
  EXPECT_FALSE(find_node_book(system, "/group/nodes.jsonl"));
}

TEST(NodeBook, IsReadAsItWasWritten) {
  const Place place;
  EXPECT_THAT(all_in(place.book), IsEmpty()) << "there is none yet";
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n1"), late_of("n2")}, now));
  ASSERT_TRUE(write_into_node_book(place.book, {failure_of("n3")}, now));
  EXPECT_THAT(all_in(place.book), ElementsAre(failure_of("n1"), late_of("n2"), failure_of("n3")));
  struct stat file {};
  ASSERT_EQ(stat(place.book.path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u) << "one's own is no other's to read";
}

TEST(NodeBook, ATornLineIsEndedByTheNextWriter) {
  const Place place;
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n1")}, now));
  const auto line = line_of(failure_of("n2"));
  std::ofstream(place.book.path, std::ios::app) << line.substr(0, line.size() / 2);
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n3")}, now));
  const auto read = read_node_book(place.book);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->all, ElementsAre(failure_of("n1"), failure_of("n3")));
  EXPECT_EQ(read->damaged, 1u);
}

TEST(NodeBook, InAGroupsFolderTheGroupMayWriteIt) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 02770);
  const NodeBook book{folder.path() + "/nodes.jsonl", /*own=*/false};
  const auto mask = umask(077);
  const auto written = append_to_node_book(book, {failure_of("n1")}, now, /*compact_at=*/0);
  umask(mask);
  ASSERT_TRUE(written);
  struct stat file {};
  ASSERT_EQ(stat(book.path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0660u) << "also when it was compacted";
}

TEST(NodeBook, FollowsNoLinkAndWaitsForNoPipe) {
  const TemporaryFolder folder;
  const NodeBook link{folder.path() + "/link", /*own=*/false};
  ASSERT_EQ(symlink("/dev/null", link.path.c_str()), 0);
  EXPECT_FALSE(append_to_node_book(link, {failure_of("n1")}, now));
  const NodeBook pipe{folder.path() + "/pipe", /*own=*/false};
  ASSERT_EQ(mkfifo(pipe.path.c_str(), 0600), 0);
  EXPECT_FALSE(append_to_node_book(pipe, {failure_of("n1")}, now));
  EXPECT_FALSE(read_node_book(pipe));
  const NodeBook nowhere{folder.path() + "/none/nodes.jsonl", /*own=*/false};
  const auto refused = append_to_node_book(nowhere, {failure_of("n1")}, now);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr(nowhere.path + ": No such file"));
}

TEST(NodeBook, ALinkIsNeitherReadNorWritten) {
  const Place place;
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n1")}, now));
  const NodeBook link{place.folder.path() + "/link", /*own=*/false};
  ASSERT_EQ(symlink(place.book.path.c_str(), link.path.c_str()), 0);
  const auto read = read_node_book(link);
  const auto written = append_to_node_book(link, {failure_of("n2")}, now);
  ASSERT_FALSE(read);
  ASSERT_FALSE(written);
  EXPECT_EQ(read.error().what, "node book " + link.path + ": it is a symbolic link");
  EXPECT_EQ(read.error().what, written.error().what);
}

/// The file may grow by so many bytes and no further: one write is cut there, as on a full disk.
TEST(NodeBook, AFullDiskLeavesAWholeLineOrOneThatIsSkipped) {
  const Place place;
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n1")}, now));
  const auto begin = text_of(place.book.path);
  const auto line = line_of(failure_of("n2"));
  for (std::size_t room = 0; room <= line.size(); ++room) {
    std::ofstream(place.book.path, std::ios::binary) << begin;
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit most{.rlim_cur = begin.size() + room, .rlim_max = RLIM_INFINITY};
      setrlimit(RLIMIT_FSIZE, &most);
      _exit(append_to_node_book(place.book, {failure_of("n2")}, now) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), room == line.size() ? 0 : 1) << room;
    ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n3")}, now));
    const bool whole = room + 1 >= line.size();  // but for its newline, which the next one writes
    const auto all = all_in(place.book);
    ASSERT_EQ(all.size(), whole ? 3u : 2u) << room;
    EXPECT_EQ(all.front(), failure_of("n1"));
    EXPECT_EQ(all.back(), failure_of("n3"));
  }
}

TEST(NodeBook, AFullDiskKeepsTheBook) {
  const TemporaryFolder folder;
  if (geteuid() != 0 || mount("small", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "only root may mount a small disk";
  const NodeBook book{folder.path() + "/nodes.jsonl", /*own=*/false};
  std::size_t written = 0;
  // Compaction finds no room for a second file either.
  while (append_to_node_book(book, {failure_of(fmt::format("n{}", written))}, now, 50'000))
    ++written;
  EXPECT_GT(written, 200u);
  const auto all = all_in(book);
  EXPECT_GE(all.size(), written);
  for (std::size_t i = 0; i < written; ++i) ASSERT_EQ(all[i].nodes, fmt::format("n{}", i));
  EXPECT_EQ(umount2(folder.path().c_str(), MNT_DETACH), 0);
}

/// A process that holds the lock and does not go on, as a stopped one or a dead client.
class LockHolder {
 public:
  explicit LockHolder(const std::string& path) {
    pid_ = fork();
    if (pid_ == 0) {
      struct flock whole {};
      whole.l_type = F_WRLCK;
      const int fd = open(path.c_str(), O_RDWR);
      if (fcntl(fd, F_OFD_SETLK, &whole) == 0) std::ofstream(path + ".locked");
      while (true) pause();
    }
    while (!fs::exists(path + ".locked")) std::this_thread::sleep_for(1ms);
  }
  ~LockHolder() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

TEST(NodeBook, ALockThatIsNotGivenBackHoldsUpNobodyForLong) {
  const Place place;
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n1")}, now));
  const LockHolder holder(place.book.path);
  const auto begun = std::chrono::steady_clock::now();
  // It is not compacted without the lock, however large.
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n2")}, now, /*compact_at=*/0));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
  EXPECT_THAT(all_in(place.book), ElementsAre(failure_of("n1"), failure_of("n2")));
}

TEST(NodeBook, IsNamedWhereNothingAnswers) {
  const Place place;
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n1")}, now));
  const LockHolder holder(place.book.path);
  const auto done = write_into_node_book(place.book, {failure_of("n2")}, now, 1ms);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "node book " + place.book.path + ": no answer after 1 ms");
  EXPECT_THAT(done.error().hint, HasSubstr("DLLAUNCH_NODE_BOOK"));
}

struct Renaming {
  explicit Renaming(int (*as)(const char*, const char*)) { renames = as; }
  ~Renaming() { renames = nullptr; }
  Renaming(const Renaming&) = delete;
  Renaming& operator=(const Renaming&) = delete;
};

bool names_the_book(const char* path) {
  return fs::path(path).filename() == "nodes.jsonl";
}

struct CompactedPlace : Place {
  fs::path folder = fs::path(book.path).parent_path();
  std::string draft = folder / ".nodes.jsonl.tmp";
  std::string next = folder / ".nodes.jsonl.next";

  CompactedPlace() { begin(); }
  /// With what is one line when it is compacted.
  void begin() const {
    EXPECT_TRUE(append_to_node_book(book, std::vector(20, failure_of("n1")), now));
  }
  void compact() const {
    EXPECT_TRUE(append_to_node_book(book, {failure_of("n2")}, now, /*compact_at=*/1000));
  }
  /// Of what was written, nothing but the book.
  void expect_the_book_alone() const {
    EXPECT_THAT(all_in(book), UnorderedElementsAre(failure_of("n1"), failure_of("n2")));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "no other file";
  }
};

/// As NFS renames, where another process has the book open.
TEST(NodeBook, ThatLosesItsNameBeforeTheNextOneHasItIsNotBegunAnew) {
  const CompactedPlace place;
  fs::rename(place.book.path, place.next);
  EXPECT_THAT(all_in(place.book), ElementsAre(failure_of("n1"))) << "nor is it empty";
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n2")}, now));
  EXPECT_THAT(all_in(place.book), ElementsAre(failure_of("n1"), failure_of("n2")));
  place.compact();
  place.expect_the_book_alone();
}

TEST(NodeBook, IsNoneThatAKilledCompactionLeftHalfWritten) {
  const CompactedPlace place;
  fs::rename(place.book.path, place.draft);
  EXPECT_THAT(all_in(place.book), IsEmpty());
  place.begin();
  std::ofstream(place.next) << line_of(failure_of("n3"));
  place.compact();
  place.expect_the_book_alone();
}

TEST(NodeBook, IsTheNextOneWhereARenameTakesTheNameAndFails) {
  const CompactedPlace place;
  const Renaming nfs([](const char* from, const char* to) {
    if (!names_the_book(to)) return rename_at_once(from, to);
    unlink(to);
    errno = EIO;
    return -1;
  });
  place.compact();
  place.expect_the_book_alone();
}

TEST(NodeBook, IsKeptWhereItsNameIsGivenToAnother) {
  const CompactedPlace place;
  const Renaming nfs([](const char* from, const char* to) {
    if (!names_the_book(to)) return rename_at_once(from, to);
    std::ofstream(std::string(to) + ".new") << line_of(failure_of("n3"));
    rename_at_once((std::string(to) + ".new").c_str(), to);
    errno = EIO;
    return -1;
  });
  place.compact();
  EXPECT_THAT(all_in(place.book), ElementsAre(failure_of("n3")));
  EXPECT_THAT(all_in({place.next}), UnorderedElementsAre(failure_of("n1"), failure_of("n2")));
}

TEST(NodeBook, IsTheOldOneWhereARenameFails) {
  const CompactedPlace place;
  const Renaming full([](const char* from, const char* to) {
    if (!names_the_book(to)) return rename_at_once(from, to);
    errno = EDQUOT;
    return -1;
  });
  place.compact();
  place.expect_the_book_alone();
  EXPECT_THAT(text_of(place.book.path), testing::Not(HasSubstr("left behind")));
}

TEST(NodeBook, ThatCannotBeCompactedSaysSoOnceItIsNotReadWhole) {
  const CompactedPlace place;
  const Renaming full([](const char* from, const char* to) {
    if (!names_the_book(to)) return rename_at_once(from, to);
    errno = EPERM;
    return -1;
  });
  std::vector<NodeSighting> many;
  for (int i = 0; i < 20'000; ++i) many.push_back(failure_of(fmt::format("m{}", i)));
  ASSERT_TRUE(append_to_node_book(place.book, many, now));
  const auto written = append_to_node_book(place.book, many, now);
  ASSERT_FALSE(written);
  EXPECT_EQ(
      written.error().what,
      "node book " + place.book.path +
          ": it has grown to 4 MiB and cannot be compacted, and only its newest 4 MiB are read");
  ASSERT_FALSE(append_to_node_book(place.book, {failure_of("n3")}, now));
  EXPECT_EQ(all_in(place.book).back(), failure_of("n3"));
}

/// The rename then finds two names of one file, and does nothing.
TEST(NodeBook, HasOneNameWhereAWriterLinksItDuringTheRename) {
  const CompactedPlace place;
  const Renaming nfs([](const char* from, const char* to) {
    if (names_the_book(to)) {
      unlink(to);
      EXPECT_EQ(link(from, to), 0);
    }
    return rename_at_once(from, to);
  });
  place.compact();
  place.expect_the_book_alone();
}

/// As after a server took the lock of a client that it took for dead.
TEST(NodeBook, IsNotWhatAnotherCompactionWrites) {
  const CompactedPlace place;
  const Renaming late([](const char* from, const char* to) {
    unlink(from);
    std::ofstream(std::string(from)) << line_of(failure_of("n3"));
    return rename_at_once(from, to);
  });
  place.compact();
  EXPECT_THAT(all_in(place.book), ElementsAre(failure_of("n1"), failure_of("n2")));
  EXPECT_EQ(text_of(place.next), line_of(failure_of("n3"))) << "it is the other's";
}

TEST(NodeBook, IsCompactedWhenItHasGrown) {
  const Place place;
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(append_to_node_book(place.book, {late_of("n1")}, now + i, never));
  auto newest = late_of("n1");
  newest.time += 1;
  ASSERT_TRUE(append_to_node_book(place.book, {newest}, now, /*compact_at=*/1000));
  const auto all = all_in(place.book);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].value, 2) << "the same line many times is one";
  const auto left = fs::path(place.book.path).parent_path();
  EXPECT_EQ(std::distance(fs::directory_iterator(left), {}), 1) << "no temporary file";
}

/// By it a writer on NFS knows a file whose name is another's.
TEST(NodeBook, AnOldFileSaysSoAndMayBeBroughtBack) {
  const Place place;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(append_to_node_book(place.book, {late_of("n1")}, now, never));
  const auto old = place.book.path + ".old";
  fs::create_hard_link(place.book.path, old);
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n2")}, now, /*compact_at=*/1000));
  EXPECT_THAT(text_of(old), testing::EndsWith("\n{\"left behind\":true}\n"));
  fs::rename(old, place.book.path);
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n3")}, now, never));
  EXPECT_EQ(all_in(place.book).back(), failure_of("n3"));
}

/// As a newer dllaunch writes one: with its sum, of a kind that is not known here.
std::string line_of_newer(const std::string& node) {
  const auto body = fmt::format(R"({{"time":1795000000.25,"kind":"haunted","nodes":"{}")", node);
  return fmt::format("{},\"sum\":\"{:016x}\"}}\n", body, stable_hash(body));
}

TEST(NodeBook, LinesOfANewerDllaunchStayAsTheyAre) {
  const Place place;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(append_to_node_book(place.book, {late_of("n1")}, now, never));
  std::ofstream(place.book.path, std::ios::app) << line_of_newer("n7") << "{\"torn\n"
                                                << line_of_newer("n8") << line_of_newer("n7");
  EXPECT_EQ(read_node_book(place.book)->damaged, 1u);
  ASSERT_TRUE(append_to_node_book(place.book, {failure_of("n2")}, now, /*compact_at=*/1000));
  const auto read = read_node_book(place.book);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->newer, ElementsAre(line_of_newer("n7"), line_of_newer("n8")));
  EXPECT_THAT(read->all, UnorderedElementsAre(late_of("n1"), failure_of("n2")));
  EXPECT_EQ(read->damaged, 0u) << "it was compacted";
}

/// A writer that appends until it is killed, and notes what it was told is written.
pid_t start_writer(const NodeBook& book, const std::string& name, const std::string& notes,
                   std::size_t compact_at) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int told = open((notes + "/" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int tried = open((notes + "/tried-" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  auto one = late_of(name);
  for (int i = 0;; ++i) {
    one.run = fmt::format("{} {}", getpid(), i);  // no line twice
    if (write(tried, "x", 1) != 1) _exit(1);
    if (!append_to_node_book(book, {one}, now, compact_at)) _exit(1);
    if (write(told, "x", 1) != 1) _exit(1);
  }
}

/// Lateness is summed, so that compaction may do its work and every line still counts.
TEST(NodeBook, WritersThatAreKilledWhileOthersCompactLoseNothing) {
  const Place place;
  const TemporaryFolder notes;
  constexpr std::size_t often = 4000;
  const std::vector<std::string> names = {"n1", "n2", "n3", "n4"};
  std::map<std::string, pid_t> writers;
  std::map<std::string, int> kills;
  std::map<std::string, NodeBook> books;
  for (const auto& name : names) {
    books[name] = {name < "n3" ? place.book.path : seen_elsewhere(place.book.path)};
    writers[name] = start_writer(books[name], name, notes.path(), often);
  }
  std::mt19937 random(6);
  const auto begun = std::chrono::steady_clock::now();
  const auto until = begun + (full_tier() ? 60s : 3s);
  const auto all_have_written = [&] {
    return std::ranges::all_of(names, [&](const std::string& name) {
      return text_of(notes.path() + "/" + name).size() > 5;
    });
  };
  while (std::chrono::steady_clock::now() < until ||
         (!all_have_written() && std::chrono::steady_clock::now() < begun + 60s)) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15'000));
    const auto& name = names[random() % names.size()];
    kill(writers[name], SIGKILL);
    int status = 0;
    waitpid(writers[name], &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "an append was refused";
    ++kills[name];
    writers[name] = start_writer(books[name], name, notes.path(), often);
  }
  for (const auto& [name, pid] : writers) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    ++kills[name];
  }
  const auto read = read_node_book(place.book);
  ASSERT_TRUE(read);
  std::map<std::string, double> sums;
  for (const auto& one : read->all) sums[one.nodes] += one.value;
  int all_kills = 0;
  for (const auto& name : names) {
    const auto told = static_cast<double>(text_of(notes.path() + "/" + name).size());
    const auto tried = static_cast<double>(text_of(notes.path() + "/tried-" + name).size());
    EXPECT_GT(told, 5) << name;
    EXPECT_GE(sums[name], told) << "nothing is lost";
    EXPECT_LE(sums[name], tried) << "nothing counts twice";
    all_kills += kills[name];
  }
  EXPECT_LE(read->damaged, static_cast<std::size_t>(all_kills));
  EXPECT_LT(fs::file_size(place.book.path), 3 * often) << "it was compacted";
  RecordProperty("kills", all_kills);
  RecordProperty("appended", static_cast<int>(sums["n1"] + sums["n2"] + sums["n3"] + sums["n4"]));
}

}  // namespace
}  // namespace dllaunch
