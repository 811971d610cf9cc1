#include <gtest/gtest.h>

#include "launcher/doctor/bench.hpp"
#include "tests/support/golden.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

Json host(const std::string& name) {
  Json answer = {{"host", name},
                 {"memory", Json::array()},
                 {"copies", Json::array()},
                 {"notes", {"copies to a GPU were skipped: no libcuda.so.1, no libamdhip64.so"}}};
  for (int from = 0; from < 2; ++from)
    for (int to = 0; to < 2; ++to) {
      answer["memory"].push_back({{"cpus", from == 0 ? "0-31" : "32-63"},
                                  {"threads", 4},
                                  {"numa", to},
                                  {"local", from == to},
                                  {"gb_per_s", from == to ? 61.25 : 33.5}});
      answer["copies"].push_back({{"gpu", from},
                                  {"pci", from == 0 ? "0000:01:00.0" : "0000:81:00.0"},
                                  {"numa", to},
                                  {"local", from == to},
                                  {"gb_per_s", from == to ? 25.1 : 18.4}});
    }
  return answer;
}

TEST(RenderBench, IsGolden) {
  EXPECT_TRUE(matches_golden("launcher/doctor_bench.txt", render_bench(Json::array({host("n1")}))));
}

TEST(RenderBench, SaysThatOneNodeHasNothingToChoose) {
  auto one = host("n1");
  one["memory"] = Json::array({one["memory"][0]});
  one["copies"] = Json::array();
  EXPECT_NE(render_bench(Json::array({one})).find("one NUMA node: memory is near from every CPU"),
            std::string::npos);
}

TEST(RenderBench, OfManyHostsShowsThree) {
  auto all = Json::array();
  for (int i = 0; i < 9; ++i) all.push_back(host("n" + std::to_string(i)));
  const auto text = render_bench(all);
  EXPECT_NE(text.find("n2: memory"), std::string::npos);
  EXPECT_EQ(text.find("n3: memory"), std::string::npos);
  EXPECT_NE(text.find("and 6 more hosts: see --json"), std::string::npos);
  EXPECT_EQ(render_bench(nullptr), "");
}

TEST(RenderBench, TakesAnyJson) {
  with_damaged({Json::array({host("n1")}).dump()}, 2000, 7, [](const std::string& text) {
    const auto document = Json::parse(text, nullptr, false);
    if (!document.is_discarded()) render_bench(document);
  });
}

}  // namespace
}  // namespace dllaunch
