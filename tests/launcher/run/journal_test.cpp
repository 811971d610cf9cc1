#include "launcher/run/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "launcher/run/journal_events.hpp"
#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const JournalAttempt begun{.time = 10,
                           .job = "17",
                           .allocation = 2,
                           .attempt = 1,
                           .fencing_token = 5,
                           .checkpoint = "/run/checkpoints/step-00000010"};

Attempt failed() {
  return {.job = "17",
          .allocation = 2,
          .cause = Cause::failed,
          .exit_code = 137,
          .dead = {.rank = 1, .host = "n2", .signal = 9},
          .error_rank = 0,
          .first_error = "ValueError: \"bad\"\n",
          .detail = {},
          .new_checkpoint = true,
          .idle = true,
          .enough_nodes = true,
          .asks = true};
}

const JournalDecision restarted{.time = 12,
                                .job = "17",
                                .allocation = 2,
                                .next = Next::restart,
                                .reason = "rank 1 died; restart 1 of 3",
                                .status = RunStatus::failed};

TEST(Journal, WhatWasWrittenIsRead) {
  const auto journal =
      parse_journal(line_of(begun) + line_of(begun, failed(), 11) + line_of(restarted, 1.0));
  ASSERT_EQ(journal.history.size(), 1u);
  const auto& attempt = journal.history[0];
  EXPECT_EQ(attempt.job, "17");
  EXPECT_EQ(attempt.allocation, 2);
  EXPECT_EQ(attempt.cause, Cause::failed);
  EXPECT_EQ(attempt.exit_code, 137);
  EXPECT_EQ(attempt.dead.rank, 1);
  EXPECT_EQ(attempt.dead.host, "n2");
  EXPECT_EQ(attempt.dead.signal, 9);
  EXPECT_EQ(attempt.error_rank, 0);
  EXPECT_THAT(attempt.first_error, StartsWith("ValueError: \"bad\""));
  EXPECT_TRUE(attempt.new_checkpoint);
  EXPECT_TRUE(attempt.idle);
  EXPECT_TRUE(attempt.enough_nodes);
  EXPECT_TRUE(attempt.asks);
  ASSERT_TRUE(journal.last);
  EXPECT_EQ(journal.last->next, Next::restart);
  EXPECT_EQ(journal.last->reason, restarted.reason);
  EXPECT_THAT(words_of(*journal.last), StartsWith("restarted at "));
}

/// Every line with every field that it may have, in the order of `dllaunch help events`.
TEST(Journal, LinesAreThoseOfTheTable) {
  Attempt ended = failed();
  ended.dead = {.rank = 1, .host = "n2", .signal = 9, .exit_code = 1, .out_of_memory = true};
  ended.dead_seen_s = 10.5;
  ended.detail = "n2";
  JournalDecision stopped = restarted;
  stopped.next = Next::stop;
  stopped.wanted_requeue = true;
  stopped.exclude = "n2";
  stopped.until = 20;
  stopped.beside = "component loader failed: rank 0 exited with code 7";
  auto smaller = begun;
  smaller.nodes = 3;
  smaller.held = 4;
  const std::string lines[] = {line_of(smaller),
                               line_of(begun, ended, 11),
                               line_of(JournalPreflight{.time = 12, .unfit = "n2", .why = "dark"}),
                               line_of(JournalWait{.time = 12, .reason = "node n2 is dark"}),
                               line_of(JournalNodes{.time = 12,
                                                    .order = "n[1,3,2]",
                                                    .network = "topology.conf",
                                                    .levels = {{"leaf switches", 3, 2}}}),
                               line_of(stopped, 1.0),
                               line_of(JournalRetry{.time = 30,
                                                    .job = "17",
                                                    .fencing_token = 3,
                                                    .by = "process 7 on login1",
                                                    .changes = "train.epochs: 1 -> 2"}),
                               line_of(JournalCorruption{.time = 31,
                                                         .job = "17",
                                                         .fencing_token = 3,
                                                         .step = 50,
                                                         .since = 40,
                                                         .what = {"weights"},
                                                         .how = "majority",
                                                         .rank = 1,
                                                         .host = "n2",
                                                         .node = "n2",
                                                         .line = "rank 1"})};
  ASSERT_EQ(std::size(lines), journal_events().size());
  for (std::size_t i = 0; i < std::size(lines); ++i) {
    const EventKind& kind = journal_events()[i];
    std::vector<std::string_view> expected;
    for (const EventField& field : fields_of_all_journal_events()) expected.push_back(field.name);
    for (const EventField& field : kind.fields) expected.push_back(field.name);
    const Json line = Json::parse(lines[i]);
    EXPECT_EQ(line["event"], kind.name);
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : line.items()) keys.push_back(key);
    EXPECT_EQ(keys, expected) << lines[i];
  }
}

TEST(Journal, WrongNumbersAreRemembered) {
  const JournalCorruption found{.time = 31,
                                .job = "17",
                                .allocation = 1,
                                .fencing_token = 3,
                                .step = 50,
                                .since = 40,
                                .what = {"weights", "states"},
                                .how = "majority",
                                .rank = 1,
                                .host = "n2.site",
                                .node = "n2",
                                .line = "step 50: rank 1 on n2"};
  JournalCorruption unknown{.time = 32, .job = "17", .how = "unknown"};
  const auto read = parse_journal(line_of(found) + line_of(unknown)).corruptions;
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].node, "n2");
  EXPECT_EQ(read[0].rank, 1);
  EXPECT_EQ(read[0].step, 50);
  EXPECT_EQ(read[0].time, 31);
  EXPECT_EQ(read[0].allocation, 1);
  EXPECT_EQ(read[0].what, found.what);
  EXPECT_EQ(read[0].line, found.line);
  EXPECT_EQ(read[1].rank, -1);
  EXPECT_EQ(read[1].node, "");
}

TEST(Journal, TheOrderOfTheNewestStartCounts) {
  const JournalNodes first{.time = 1, .job = "17", .order = "n[1-3]"};
  const JournalNodes second{.time = 2,
                            .job = "17",
                            .allocation = 1,
                            .order = "n[1,3,2]",
                            .network = "topology.conf",
                            .levels = {{"leaf switches", 3, 2}}};
  const auto read = parse_journal(line_of(first) + line_of(second) + line_of(restarted, 1.0)).nodes;
  ASSERT_TRUE(read);
  EXPECT_EQ(read->order, second.order);
  EXPECT_EQ(read->job, "17");
  EXPECT_EQ(read->allocation, 1);
  EXPECT_EQ(words_of(*read),
            "2 of 3 ring edges leave leaf switches (3 in Slurm's order); topology.conf");
  EXPECT_EQ(words_of(JournalNodes{.order = "n[1-"}), "");
}

/// Words that the table of events lists.
TEST(Journal, TheTableNamesEveryCause) {
  std::string causes;
  for (const std::string_view cause : cause_names)
    causes += (causes.empty() ? "" : ", ") + std::string(cause);
  EXPECT_EQ(journal_events()[1].fields[3].meaning, causes);
}

TEST(Journal, WhichNodesAreOutIsRemembered) {
  auto back = restarted;
  back.next = Next::requeue;
  back.exclude = "n[2-3]";
  auto text = line_of(begun) + line_of(begun, failed(), 11) + line_of(restarted, 1.0) +
              line_of(JournalPreflight{.time = 12, .job = "17", .unfit = "n[2-3]", .why = "dark"}) +
              line_of(back, {});
  auto journal = parse_journal(text);
  ASSERT_TRUE(journal.last);
  EXPECT_EQ(journal.last->exclude, "n[2-3]");
  EXPECT_TRUE(journal.decided);
  EXPECT_EQ(journal.history.size(), 1U) << "to look is no start";
  EXPECT_EQ(journal.put_back_for_nodes, 1);
  text += line_of(back, {});
  EXPECT_EQ(parse_journal(text).put_back_for_nodes, 2);
  EXPECT_EQ(parse_journal(text + line_of(begun)).put_back_for_nodes, 0);
}

/// A supervisor may be killed after each line.
TEST(Journal, ADecisionIsAboutTheNewestAttemptOrAnOlderOne) {
  auto stopped = restarted;
  stopped.next = Next::stop;
  stopped.exit_code = 93;
  auto text = line_of(begun) + line_of(begun, failed(), 11);
  EXPECT_FALSE(parse_journal(text).decided);
  text += line_of(stopped, {});
  const auto journal = parse_journal(text);
  EXPECT_TRUE(journal.decided);
  EXPECT_EQ(journal.last->exit_code, 93);
  text += line_of(begun);
  EXPECT_FALSE(parse_journal(text).decided);
  EXPECT_TRUE(parse_journal(text).last);
}

TEST(Journal, AnAttemptWithoutAnEndWasCutShort) {
  const auto journal = parse_journal(line_of(begun));
  ASSERT_EQ(journal.history.size(), 1u);
  EXPECT_EQ(journal.history[0].cause, Cause::cut_short);
  EXPECT_EQ(journal.history[0].checkpoint, begun.checkpoint);
  EXPECT_EQ(journal.last_time, begun.time);
  EXPECT_EQ(journal.attempt_began_s, begun.time);
}

/// Its next incarnation says how it ended.
TEST(Journal, TheEndOfACutShortAttemptIsToldLater) {
  Attempt cut{.job = begun.job, .allocation = begun.allocation};
  cut.detail = "ended by Slurm";
  cut.new_checkpoint = true;
  JournalAttempt next = begun;
  next.allocation += 1;
  const auto journal = parse_journal(line_of(begun) + line_of(cut, 12) + line_of(next));
  ASSERT_EQ(journal.history.size(), 2u);
  EXPECT_EQ(journal.history[0].cause, Cause::cut_short);
  EXPECT_EQ(journal.history[0].detail, "ended by Slurm");
  EXPECT_TRUE(journal.history[0].new_checkpoint);
  EXPECT_EQ(line_of(cut, 12).find("seconds"), std::string::npos) << "unknown";
}

TEST(Journal, TornAndForeignLinesArePassedOver) {
  const auto whole = line_of(begun) + line_of(begun, failed(), 11);
  const auto torn = line_of(restarted, 1.0);
  const auto journal = parse_journal("not json\n[1]\n{\"event\": 7}\n{\"event\": \"attempts\"}\n" +
                                     whole + torn.substr(0, torn.size() / 2));
  EXPECT_EQ(journal.history.size(), 1u);
  EXPECT_FALSE(journal.last);
}

/// Whatever a crash or a foreign hand makes of it: it is read, and nothing is made up.
TEST(Journal, AnyDamageIsSurvived) {
  const auto whole = line_of(begun) + line_of(begun, failed(), 11) + line_of(restarted, 1.0);
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    auto text = whole;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    EXPECT_LE(parse_journal(text).history.size(), 2u);
  }
}

TEST(Journal, ATornLineDoesNotSpoilTheNext) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  EXPECT_TRUE(read_journal(run).history.empty());
  ASSERT_TRUE(append_to_journal(run, line_of(begun)));
  std::ofstream(folder.path() + "/supervisor.jsonl", std::ios::app) << "{\"time\": 3, \"eve";
  ASSERT_TRUE(append_to_journal(run, line_of(begun, failed(), 11)));
  const auto journal = read_journal(run);
  ASSERT_EQ(journal.history.size(), 1u);
  EXPECT_EQ(journal.history[0].cause, Cause::failed);
}

/// Who looks after the run from outside must not overrule it, but where it asked for more than
/// Slurm gave.
TEST(Journal, AStopIsFinalUnlessARequeueWasWanted) {
  JournalDecision stop{.time = 1, .job = "7", .next = Next::stop, .reason = "no new checkpoint"};
  EXPECT_EQ(stopped_in(parse_journal(line_of(stop, {})), "7"), "no new checkpoint");
  EXPECT_EQ(stopped_in(parse_journal(line_of(stop, {})), "8"), "");
  const JournalAttempt next{.time = 2, .job = "7", .allocation = 1};
  EXPECT_EQ(stopped_in(parse_journal(line_of(stop, {}) + line_of(next)), "7"), "");
  stop.next = Next::requeue;
  EXPECT_EQ(stopped_in(parse_journal(line_of(stop, {})), "7"), "");
  stop.next = Next::stop;
  stop.wanted_requeue = true;
  const auto journal = parse_journal(line_of(stop, {}));
  EXPECT_TRUE(journal.last->wanted_requeue);
  EXPECT_EQ(stopped_in(journal, "7"), "");
}

TEST(Journal, RestartsAreStartsOfRanksAfterTheFirst) {
  Journal journal;
  EXPECT_EQ(restarts_in(journal, "17"), 0);
  journal.history = {{.job = "9"},
                     {.job = "17"},
                     {.job = "17", .cause = Cause::not_started},
                     {.job = "17", .allocation = 1}};
  EXPECT_EQ(restarts_in(journal, "17"), 1);
  EXPECT_EQ(restarts_in(journal, "9"), 0);
}

TEST(Journal, WhatCannotBeReadIsNotNothing) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  EXPECT_TRUE(is_readable(run)) << "nothing was written";
  ASSERT_TRUE(append_to_journal(run, line_of(begun)));
  EXPECT_TRUE(is_readable(run));
  std::filesystem::create_directory(folder.path() + "/finished.job");
  EXPECT_FALSE(is_readable(run));
}

TEST(Journal, APipeInItsPlaceIsNotWaitedFor) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  ASSERT_EQ(mkfifo((run.path + "/supervisor.jsonl").c_str(), 0600), 0);
  EXPECT_FALSE(is_readable(run));
  EXPECT_FALSE(read_journal(run).last);
}

TEST(Journal, RoomThatIsTakenAheadIsNotContent) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  ASSERT_TRUE(append_to_journal(run, line_of(JournalAttempt{.time = 1, .job = "17"})));
  reserve_journal(run);
  ASSERT_TRUE(append_to_journal(run, line_of(JournalAttempt{.time = 2, .job = "17"})));
  EXPECT_EQ(read_journal(run).history.size(), 2U);
  EXPECT_LT(std::filesystem::file_size(folder.path() + "/supervisor.jsonl"), 1000U);
  struct stat info {};
  ASSERT_EQ(stat((folder.path() + "/supervisor.jsonl").c_str(), &info), 0);
  const auto taken = info.st_blocks * 512;
  if (taken < 65536) GTEST_SKIP() << "this file system takes no room ahead";
}

TEST(Journal, AFileSystemThatRefusesIsAnError) {
  const auto done = append_to_journal({.path = "/proc/nowhere"}, line_of(begun));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(done.error().what, HasSubstr("supervisor.jsonl"));
}

TEST(Journal, AFinishedRunIsRememberedWithItsJob) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  EXPECT_FALSE(finished_in_job(run));
  ASSERT_TRUE(mark_finished(run, "17"));
  EXPECT_EQ(finished_in_job(run), "17");
}

TEST(Journal, AWaitLastsUntilTheNextLineOfTheRun) {
  const auto wait = line_of(JournalWait{.time = 11, .job = "17", .reason = "node n2 is dark"});
  const auto looked = line_of(JournalPreflight{.time = 12, .unfit = "n2"});
  const auto journal = parse_journal(line_of(begun) + wait + looked);
  ASSERT_TRUE(journal.waits);
  EXPECT_EQ(journal.waits->job, "17");
  EXPECT_THAT(words_of(*journal.waits), StartsWith("waits since "));
  EXPECT_FALSE(parse_journal(wait + line_of(JournalWait{.time = 12, .job = "17"})).waits);
  EXPECT_FALSE(parse_journal(wait + line_of(begun, failed(), 13)).waits);
  EXPECT_FALSE(parse_journal(wait + line_of(begun)).waits);
}

}  // namespace
}  // namespace dllaunch
