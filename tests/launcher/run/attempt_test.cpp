#include "launcher/run/attempt.hpp"

#include <gtest/gtest.h>

#include <set>

#include "launcher/run/journal.hpp"

namespace dllaunch {
namespace {

TEST(Attempt, EachCauseHasANameThatTheJournalReads) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Cause::corrupted); ++i) {
    const auto cause = static_cast<Cause>(i);
    names.insert(to_string(cause));
    const auto journal = parse_journal(line_of(Attempt{.cause = cause}, 1));
    ASSERT_EQ(journal.history.size(), 1U);
    EXPECT_EQ(journal.history[0].cause, cause);
  }
  EXPECT_EQ(names.size(), std::size(cause_names));
  const auto newer = parse_journal(R"({"event": "ended", "cause": "unknown"})");
  EXPECT_EQ(newer.history.at(0).cause, Cause::cut_short);
}

}  // namespace
}  // namespace dllaunch
