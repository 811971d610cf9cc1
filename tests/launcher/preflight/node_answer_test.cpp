#include "launcher/preflight/node_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/fake_system.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<std::string> two_items(const NodeView&) {
  return {"well", "hangs"};
}
Result<Json> sees(const NodeView& view, const std::string& item) {
  if (item == "hangs")
    for (;;) pause();
  return Json{{"node", view.node}, {"item", item}};
}
Result<Json> crashes(const NodeView&, const std::string&) {
  std::raise(SIGSEGV);
  return Json();
}
Result<Json> refuses(const NodeView&, const std::string&) {
  return Error{ErrorKind::unavailable, "no such thing", ""};
}

const PreflightCheck first{.name = "first", .limit = 3s, .items = two_items, .observe = sees};
const PreflightCheck second{.name = "second", .limit = 60s, .observe = crashes};
const PreflightCheck third{
    .name = "third", .stage = PreflightStage::cpu_speed, .limit = 60s, .observe = refuses};
const PreflightCheck fourth{.name = "fourth", .reads = "first"};
const std::vector<const PreflightCheck*> table = {&first, &second, &third, &fourth};

TEST(NodeAnswer, ComesWhateverTheChecksDo) {
  FakeSystem system;
  const PreflightRequest request;
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = observe_node({request, system, "n1"}, table);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
  ASSERT_EQ(answer.samples.size(), 3u);
  const auto& samples = answer.samples.at("first");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].trouble, "");
  EXPECT_EQ(text_of(samples[0].seen, "item"), "well");
  EXPECT_EQ(samples[1].item, "hangs");
  EXPECT_EQ(samples[1].trouble, "no answer after 3000 ms");
  EXPECT_THAT(answer.samples.at("second")[0].trouble, HasSubstr("signal 11"));
  EXPECT_EQ(answer.samples.at("third")[0].trouble, "no such thing");
}

TEST(NodeAnswer, LeavesOutWhatIsSkipped) {
  FakeSystem system;
  const PreflightRequest request{.skip = {"first", "third"}};
  const auto answer = observe_node({request, system, "n1"}, table);
  EXPECT_EQ(answer.samples.size(), 1u);
  EXPECT_TRUE(answer.samples.contains("second"));
}

NodeAnswer sample() {
  return {.node = "n1",
          .samples = {{"shm", {{.node = "n1", .seen = {{"free_bytes", 5}}}}},
                      {"folders", {{.node = "n1", .item = "TMPDIR", .trouble = "hung"}}}}};
}

TEST(NodeAnswer, TravelsWhole) {
  const auto again = node_answer_from_json(to_json(sample()));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_json(*again), to_json(sample()));
  EXPECT_EQ(again->samples.at("folders")[0].trouble, "hung");
  EXPECT_EQ(again->samples.at("folders")[0].node, "n1");
}

TEST(NodeAnswer, IsReadWhateverComes) {
  with_damaged({to_json(sample()).dump()}, 3000, 23, [](const std::string& text) {
    const auto answer = node_answer_from_json(Json::parse(text, nullptr, false));
    if (!answer) return;
    EXPECT_FALSE(answer->node.empty());
    for (const auto& [name, samples] : answer->samples)
      for (const auto& sample : samples)
        EXPECT_TRUE(sample.seen.is_object() || !sample.trouble.empty());
  });
  EXPECT_FALSE(node_answer_from_json(Json()));
  EXPECT_FALSE(node_answer_from_json({{"node", "n1"}}));
}

}  // namespace
}  // namespace dllaunch
