#include "launcher/monitor/hold_notice.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double began = 1'800'000'000;
const RunDir run{.path = "/runs/my run"};

Journal held(double time, const std::string& job = "17") {
  Journal journal;
  journal.decided = true;
  journal.last = JournalDecision{.time = time,
                                 .job = job,
                                 .next = Next::hold,
                                 .reason = "rank 1 on n2 exited with code 5",
                                 .until = time + 60};
  return journal;
}

TEST(HoldNotice, TellsOfEachHoldAndItsRetryOnce) {
  HoldNotice notice("17");
  EXPECT_EQ(notice.look({}, run, began), "");
  auto journal = held(began);
  EXPECT_THAT(notice.look(journal, run, began + 1),
              AllOf(HasSubstr("held until "), HasSubstr("exited with code 5; fix it and run: "
                                                        "dllaunch retry '/runs/my run'")));
  EXPECT_EQ(notice.look(journal, run, began + 2), "");
  journal.retry =
      JournalRetry{.time = began + 3, .by = "process 7 on login", .changes = "a: 1 -> 2"};
  EXPECT_THAT(notice.look(journal, run, began + 4),
              AllOf(HasSubstr("retried at "), HasSubstr("by process 7 on login: a: 1 -> 2")));
  EXPECT_EQ(notice.look(journal, run, began + 5), "");
  auto again = held(began + 6);
  again.retry = journal.retry;
  EXPECT_THAT(notice.look(again, run, began + 7), HasSubstr("held until "));
}

TEST(HoldNotice, OfWhatIsOverOrNotOursNothingIsSaid) {
  EXPECT_EQ(HoldNotice("17").look(held(began), run, began + 61), "");
  EXPECT_EQ(HoldNotice("17").look(held(began, "16"), run, began + 1), "");
  auto retried = held(began);
  retried.retry = JournalRetry{.time = began + 1};
  EXPECT_EQ(HoldNotice("17").look(retried, run, began + 2), "") << "before it was followed";
  auto goes_on = held(began);
  goes_on.decided = false;
  EXPECT_EQ(HoldNotice("17").look(goes_on, run, began + 2), "") << "the ranks run again";
}

TEST(HoldNotice, TellsOnceWhatTheRunWaitsFor) {
  HoldNotice notice("17");
  Journal journal;
  journal.waits = JournalWait{.time = began, .job = "17", .reason = "node n2 is dark"};
  EXPECT_THAT(notice.look(journal, run, began), HasSubstr(": node n2 is dark"));
  EXPECT_EQ(notice.look(journal, run, began + 1), "");
  journal.waits->reason = "node n3 is dark";
  EXPECT_THAT(notice.look(journal, run, began + 2), HasSubstr(": node n3 is dark"));
  journal.waits->job = "18";
  EXPECT_EQ(notice.look(journal, run, began + 3), "");
}

}  // namespace
}  // namespace dllaunch
