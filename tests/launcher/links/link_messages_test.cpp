#include "launcher/links/link_messages.hpp"

#include <gtest/gtest.h>

#include "support/json.hpp"

namespace dllaunch {
namespace {

TEST(LinkMessages, TasksAreReadAsWritten) {
  const LinkTask task{
      .hosts = {"n1", "n2", "n10"}, .host_suffix = "-ib", .mark = "abc", .seconds = 9.5};
  const auto again = link_task_from(to_text(task));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->hosts, task.hosts);
  EXPECT_EQ(again->host_suffix, "-ib");
  EXPECT_EQ(again->mark, "abc");
  EXPECT_DOUBLE_EQ(again->seconds, 9.5);
  for (const char* text : {"", "[]", "{}", "null", R"({"hosts": 7})"})
    EXPECT_FALSE(link_task_from(text)) << text;
}

TEST(LinkMessages, CallsAreReadAsWritten) {
  const LinkCall doors{.doors = {{"10.0.0.1", 4000}, {"", 4001}}};
  auto line = to_line(doors);
  ASSERT_TRUE(line.ends_with('\n'));
  line.pop_back();
  const auto read = link_call_from(line, 2);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->doors, doors.doors);
  EXPECT_FALSE(link_call_from(line, 3)) << "a door is missing";

  auto order = to_line(LinkCall{.order = 4, .milliseconds = 80, .pulls = {{0, 1}, {1, 0}}});
  order.pop_back();
  const auto again = link_call_from(order, 2);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->order, 4u);
  EXPECT_EQ(again->milliseconds, 80);
  EXPECT_EQ(again->pulls, (std::vector<Pull>{{0, 1}, {1, 0}}));
  EXPECT_FALSE(link_call_from(order, 1)) << "there is no host 1";
}

TEST(LinkMessages, RepliesAreReadAsWritten) {
  const LinkReply reply{
      .host = 3, .order = 7, .data = {.pull = {3, 2}, .gbit_per_s = 9.41, .us = 31.5, .why = ""}};
  auto line = to_line(reply);
  line.pop_back();
  const auto again = link_reply_from(line, 4);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data.pull, (Pull{3, 2}));
  EXPECT_EQ(again->order, 7u);
  EXPECT_DOUBLE_EQ(again->data.gbit_per_s, 9.41);
  EXPECT_FALSE(again->door);
  EXPECT_FALSE(link_reply_from(line, 3)) << "there is no host 3";

  auto hello = to_line(LinkReply{.host = 1, .door = LinkDoor{"10.0.0.2", 4711}});
  hello.pop_back();
  EXPECT_EQ(link_reply_from(hello, 2)->door, (LinkDoor{"10.0.0.2", 4711}));
}

TEST(LinkMessages, ALineIsShortAndPlain) {
  const LinkReply reply{.host = 12345,
                        .order = 999999,
                        .data = {.pull = {12345, 54321},
                                 .gbit_per_s = 1.0 / 3,
                                 .us = 1e300,
                                 .why = std::string(5000, '\x01') + "\xff\n"}};
  const auto line = to_line(reply);
  EXPECT_LE(line.size(), 400u);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(LinkMessages, OthersOutputIsNoReply) {
  for (const char* line :
       {"", "srun: error: n3: task 2: Killed", "dllaunch-links", "dllaunch-links {",
        "dllaunch-links []", R"(dllaunch-links {"host": -1})",
        R"(dllaunch-links {"host": 0, "gbit_per_s": -3})", R"({"host": 0})",
        R"(dllaunch-links {"host": 0, "door": {"address": "", "port": 70000}})"})
    EXPECT_FALSE(link_reply_from(line, 4)) << line;
}

}  // namespace
}  // namespace dllaunch
