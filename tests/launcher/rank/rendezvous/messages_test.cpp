#include "launcher/rank/rendezvous/messages.hpp"

#include <gtest/gtest.h>

#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

TEST(Messages, AMeetingPointComesBackAsItWas) {
  const auto line = to_line({.address = "n1", .port = 40001, .server_port = 40002}, "slurm-1.0-r0");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto point = parse_rendezvous_point(line, "slurm-1.0-r0");
  ASSERT_TRUE(point) << point.error().what;
  EXPECT_EQ(point->address, "n1");
  EXPECT_EQ(point->port, 40001);
  EXPECT_EQ(point->server_port, 40002);
}

TEST(Messages, WhatAnEarlierStartLeftIsRefused) {
  const auto line = to_line({.address = "n1", .port = 1, .server_port = 2}, "slurm-1.0-r0");
  const auto stale = parse_rendezvous_point(line, "slurm-1.0-r1");
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().what, "it belongs to another start");
}

TEST(Messages, RefusesWhatIsNoMeetingPoint) {
  for (const char* text :
       {"", "{", "[]", "3", R"({"start":"s"})", R"({"start":"s","address":"","port":1,"desk":0})",
        R"({"start":"s","address":"n1","port":0,"desk":0})",
        R"({"start":"s","address":"n1","port":65536,"desk":0})",
        R"({"start":"s","address":"n1","port":99999999999999999999,"desk":0})",
        R"({"start":"s","address":"n1","port":-1,"desk":0})",
        R"({"start":"s","address":"n1","port":"1","desk":0})",
        R"({"start":"s","address":"`rm`","port":1,"desk":0})",
        R"({"start":"s","address":"a\nb","port":1,"desk":0})"}) {
    EXPECT_FALSE(parse_rendezvous_point(text, "s")) << text;
  }
}

TEST(Messages, ASecretComesBackAndNothingElseInItsPlace) {
  const auto secret = new_secret();
  EXPECT_NE(secret, new_secret());
  const auto point = parse_rendezvous_point(
      to_line({.address = "n1", .port = 1, .server_port = 2, .secret = secret}, "s"), "s");
  ASSERT_TRUE(point);
  EXPECT_EQ(point->secret, secret);
  for (const std::string& other :
       {std::string(), secret + "0", secret.substr(1), std::string(64, 'g')}) {
    const auto line = to_line({.address = "n1", .port = 1, .server_port = 2, .secret = other}, "s");
    EXPECT_EQ(parse_rendezvous_point(line, "s")->secret, "");
  }
}

TEST(Messages, WhomAQuestionIsForAndItsNumberComeBack) {
  const auto nonce = new_nonce();
  const Question question{.rank = 1, .to = "[fe80::1]:61000", .nonce = nonce};
  const auto back = parse_question(to_line(question, "s"), "s");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->to, question.to);
  EXPECT_EQ(back->nonce, nonce);
  EXPECT_EQ(answer_purpose(question), "answer");
  EXPECT_EQ(answer_purpose({.rank = 1, .worker = "n2:1"}), "table");
  for (const std::string& other : {nonce + "0", nonce.substr(1), std::string(32, 'g')})
    EXPECT_EQ(parse_question(to_line(Question{.nonce = other}, "s"), "s")->nonce, "");
  EXPECT_FALSE(parse_question(to_line(Question{.to = "n1 :1"}, "s"), "s"));
}

TEST(Messages, QuestionsOfThisStartOnly) {
  const auto asked = parse_question(to_line(Question{.rank = 7}, "s"), "s");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->rank, 7);
  EXPECT_EQ(asked->worker, "");
  const auto worker = parse_question(to_line(Question{.rank = 1, .worker = "n2:5"}, "s"), "s");
  ASSERT_TRUE(worker);
  EXPECT_EQ(worker->worker, "n2:5");
  EXPECT_FALSE(parse_question(to_line(Question{.rank = 7}, "s"), "t"));
  for (const char* text : {"", "GET / HTTP/1.1", R"({"start":"s","rank":-1,"worker":""})",
                           R"({"start":"s","rank":1,"worker":"a b"})", R"({"start":"s"})"}) {
    EXPECT_FALSE(parse_question(text, "s")) << text;
  }
}

TEST(Messages, AllWorkersOrNone) {
  const std::vector<std::string> workers = {"n1:1", "[fe80::1]:2"};
  const auto read = parse_workers(workers_line(workers), 2);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, workers);
  EXPECT_FALSE(parse_workers(workers_line(workers), 3));
  EXPECT_FALSE(parse_workers(R"(["n1:1",""])", 2)) << "one that has not come";
  EXPECT_FALSE(parse_workers(R"(["n1:1",2])", 2));
}

TEST(Messages, APortAfterANameOrANumber) {
  EXPECT_EQ(with_port("n1", 5), "n1:5");
  EXPECT_EQ(with_port("10.0.0.1", 5), "10.0.0.1:5");
  EXPECT_EQ(with_port("fe80::1", 5), "[fe80::1]:5");
  EXPECT_EQ(with_port("[fe80::1]", 5), "[fe80::1]:5");
}

}  // namespace
}  // namespace dllaunch
