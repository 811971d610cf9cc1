#include <gmock/gmock.h>

#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Json call(const std::string& to, const std::string& why = "", double ahead = 0) {
  return {{"to", to},  {"reached", why.empty()}, {"why", why},
          {"ms", 0.1}, {"mb_per_s", 900},        {"ahead_s", ahead}};
}
Json calls(std::vector<Json> peers) {
  return {{"interface", ""}, {"peers", std::move(peers)}};
}

const PreflightRequest three{.hosts = {"n1", "n2", "n3"}};

TEST(PreflightNetwork, IsWellWhereAllReachTheirPeers) {
  EXPECT_EQ(judged("network", three,
                   {sample("n1", calls({call("n2"), call("n3")})),
                    sample("n2", calls({call("n3")})), sample("n3", calls({call("n1")}))}),
            (Words{"n1 ok", "n2 ok", "n3 ok"}));
}

TEST(PreflightNetwork, BlamesTheNodeThatExplainsMost) {
  EXPECT_EQ(
      judged("network", three,
             {sample("n1", calls({call("n2", "timed out"), call("n3")})),
              sample("n2", calls({call("n3", "timed out"), call("n1", "timed out")})),
              sample("n3", calls({call("n1"), call("n2", "timed out")}))}),
      (Words{"n1 ok",
             "n2 fail: n1 cannot reach it: timed out; it cannot reach n3: timed out; it cannot "
             "reach n1: timed out; and 1 more",
             "n3 ok"}));
}

/// The job's script runs on the first node; without it there is no job.
TEST(PreflightNetwork, OfTwoItBlamesTheOneWithoutTheScript) {
  EXPECT_EQ(judged("network", {.hosts = {"n1", "n2"}},
                   {sample("n1", calls({call("n2", "refused")})),
                    sample("n2", calls({call("n1", "refused")}))}),
            (Words{"n1 ok", "n2 fail: n1 cannot reach it: refused; it cannot reach n1: refused"}));
}

TEST(PreflightNetwork, SaysNothingOfNodesThatDidNotAnswer) {
  EXPECT_EQ(judged("network", three,
                   {sample("n1", calls({call("n2", "refused"), call("n3")})),
                    sample("n3", calls({call("n1"), call("n2", "refused")}))}),
            (Words{"n1 ok", "n3 ok"}));
}

TEST(PreflightNetwork, FindsSeveral) {
  PreflightRequest request;
  std::vector<NodeSample> samples;
  const auto bad = [](int i) { return i == 3 || i == 7; };
  for (int i = 0; i < 10; ++i) request.hosts.push_back("n" + std::to_string(i));
  for (int i = 0; i < 10; ++i) {
    std::vector<Json> peers;
    for (const int d : {1, 2, 5}) {
      const int to = (i + d) % 10;
      peers.push_back(call("n" + std::to_string(to), bad(i) || bad(to) ? "timed out" : ""));
    }
    samples.push_back(sample("n" + std::to_string(i), calls(std::move(peers))));
  }
  const auto results = judged("network", request, samples);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].find("fail") != std::string::npos, bad(static_cast<int>(i))) << results[i];
}

TEST(PreflightNetwork, NeedsTheInterfaceThatIsNamed) {
  FakeSystem system;
  system.variables["NCCL_SOCKET_IFNAME"] = "hsn7";
  const PreflightRequest request{.hosts = {"n1", "n2"}, .mark = "t"};
  const auto seen = check_named("network").observe({request, system, "n1"}, "");
  ASSERT_TRUE(seen);
  const auto results = judged("network", request, {sample("n1", *seen)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0], HasSubstr("n1 fail: NCCL_SOCKET_IFNAME=hsn7 matches no interface"));
}

TEST(PreflightNetwork, OfOneNodeIsNothingToLookAt) {
  FakeSystem system;
  const PreflightRequest request{.hosts = {"n1"}};
  const auto seen = check_named("network").observe({request, system, "n1"}, "");
  ASSERT_TRUE(seen);
  EXPECT_EQ(judged("network", request, {sample("n1", *seen)}), Words{"n1 ok"});
  const PreflightRequest others{.hosts = {"n7", "n8"}};
  EXPECT_THAT(check_named("network").observe({others, system, "n1"}, "").error().what,
              HasSubstr("not a node of the job"));
}

}  // namespace
}  // namespace dllaunch
