#include <gmock/gmock.h>

#include "tests/launcher/preflight/node_samples.hpp"

namespace dllaunch {
namespace {

Json calls(const std::vector<std::pair<std::string, double>>& peers) {
  Json seen{{"peers", Json::array()}};
  for (const auto& [to, ahead] : peers)
    seen["peers"].push_back({{"to", to}, {"reached", true}, {"ahead_s", ahead}});
  return seen;
}

TEST(PreflightClock, NamesTheNodeThatIsOff) {
  EXPECT_EQ(judged("clock", {},
                   {sample("n1", calls({{"n2", 90.0}, {"n3", 0.001}})),
                    sample("n2", calls({{"n3", -90.0}, {"n1", -90.0}})),
                    sample("n3", calls({{"n1", 0.0}, {"n2", 90.0}}))}),
            (Words{"n1 ok", "n2 fail: its clock is 90.0 s ahead of the other nodes'", "n3 ok"}));
  EXPECT_EQ(judged("clock", {},
                   {sample("n1", calls({{"n2", 0.0}, {"n3", -1.5}})), sample("n2", calls({})),
                    sample("n3", calls({}))}),
            (Words{"n1 ok", "n2 ok", "n3 warn: its clock is 1.5 s behind the other nodes'"}));
}

/// n1 - n2 - ... - n6, each calling only the next.
TEST(PreflightClock, ComparesAlongTheCalls) {
  std::vector<NodeSample> samples;
  for (int i = 1; i < 6; ++i)
    samples.push_back(
        sample("n" + std::to_string(i), calls({{"n" + std::to_string(i + 1), i == 4   ? 20.0
                                                                             : i == 5 ? -20.0
                                                                                      : 0.0}})));
  samples.push_back(sample("n6", calls({})));
  const auto results = judged("clock", {}, samples);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].find("ok") != std::string::npos, i != 4) << results[i];
}

TEST(PreflightClock, WithoutPeersSaysNothing) {
  EXPECT_EQ(judged("clock", {}, {sample("n1", calls({}))}), Words{"n1 ok"});
  EXPECT_EQ(
      judged("clock", {}, {sample("n1", calls({{"n2", 1e300}})), sample("n2", Json::object())}),
      (Words{"n1 ok", "n2 ok"}));
}

}  // namespace
}  // namespace dllaunch
