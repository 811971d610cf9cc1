#include "launcher/study/measured_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// The output of `bench allreduce --json`: a call takes 100 us and a microsecond for 1000 bytes; a
/// message between two nodes ten times that.
Json output(const char* communicator, int nodes) {
  const std::string between =
      nodes < 2 ? "" : R"(, {"level": "between nodes", "alpha_us": 1000, "per": "message",
                        "beta_gbs": 0.1, "error": 0.1})";
  return Json::parse(std::string(R"([{"backend": ")") + communicator +
                     R"(", "ranks": 2, "bytes": 4, "us": 50},
    {"backend": ")" + communicator +
                     R"(", "ranks": 2, "bytes": 8000, "us": 108, "nodes": )" +
                     std::to_string(nodes) +
                     R"(, "models": [
      {"level": "within a node", "alpha_us": 100, "per": "call", "beta_gbs": 1, "error": 0.01})" +
                     between + "]}]");
}

Study trained(int ranks_of_node = 8) {
  Study study{.name = "a", .trains = true, .unit = "images/s"};
  for (const int ranks : {1, 2, 4}) {
    StudyRun run{.ranks = ranks, .nodes = (ranks + ranks_of_node - 1) / ranks_of_node};
    run.value = 100 * ranks;
    run.global_batch = 50;
    run.gradient_bytes = 1'000'000;
    run.communicator = ranks == 1 ? "solo" : "hierarchical";
    study.runs.push_back(run);
  }
  return study;
}

TEST(MeasuredExchangeOf, AStepInTheUnitOfTheStudysTimes) {
  auto study = trained();
  study.allreduce = *read_allreduce(output("hierarchical", 1));
  const auto exchange = measured_exchange(study);
  ASSERT_TRUE(exchange) << exchange.error().what;
  EXPECT_EQ(exchange->bytes, 1'000'000);
  EXPECT_EQ(exchange->ranks, 4);
  EXPECT_NEAR(exchange->us, 1100, 1e-6);
  EXPECT_EQ(exchange->time(1), 0);
  EXPECT_NEAR(exchange->time(8), 1100e-6 / 50, 1e-12) << "seconds an image";
  study.scaling = Scaling::weak;
  for (auto& run : study.runs) run.global_batch = 25 * run.ranks;
  EXPECT_NEAR(measured_exchange(study)->time(8), 1100e-6 / 25, 1e-12) << "of a rank";
}

TEST(MeasuredExchangeOf, LargeArraysTakeAsMuchLongerAsWasMeasured) {
  auto study = trained();
  auto bench = output("hierarchical", 1);
  bench[1]["us"] = 3 * 108;
  study.allreduce = *read_allreduce(bench);
  EXPECT_NEAR(measured_exchange(study)->us, 3 * 1100, 1e-6);
  bench[1]["us"] = 1;
  study.allreduce = *read_allreduce(bench);
  EXPECT_NEAR(measured_exchange(study)->us, 1100, 1e-6) << "never less than the model: a bound";
}

TEST(MeasuredExchangeOf, NodesAreAddedAsFullAsTheLargestSizes) {
  auto study = trained(/*ranks_of_node=*/2);
  study.allreduce = *read_allreduce(output("hierarchical", 2));
  const auto exchange = measured_exchange(study);
  ASSERT_TRUE(exchange) << exchange.error().what;
  EXPECT_NEAR(exchange->us, 1100 + 2 * 1000 + 10'000, 1e-6);
  EXPECT_NEAR(exchange->time(8) * 50e6, 1100 + 6 * 1000 + 1.5 * 10'000, 1e-6);
}

TEST(MeasuredExchangeOf, TheFitSaysThatItIsBoundedByIt) {
  auto study = trained();
  study.allreduce = *read_allreduce(output("hierarchical", 1));
  const auto result = result_of(study);
  EXPECT_THAT(exchange_of(study, result),
              testing::MatchesRegex("the exchange is bounded by the measured all-reduce "
                                    "\\(hierarchical, 1 MB: 1.1 ms a step on 4 ranks\\); the "
                                    "times fit [0-9]+ % of it"));
  const auto fit = to_json(study, result)["fit"];
  EXPECT_EQ(fit["model"], "s + w / p + x m(p)");
  EXPECT_EQ(fit["allreduce"]["us"], 1100);
  EXPECT_EQ(read_study(to_json(study, result)).runs[2].communicator, "hierarchical");
  study.allreduce.reset();
  EXPECT_THAT(exchange_of(study, result_of(study)), HasSubstr("to these times alone: no all-"));
}

TEST(MeasuredExchangeOf, SaysWhyThereIsNone) {
  const auto why = [](const Study& study) {
    const auto exchange = measured_exchange(study);
    return exchange ? "none" : exchange.error().what;
  };
  auto study = trained();
  EXPECT_THAT(why(study), HasSubstr("no all-reduce was measured"));
  study.allreduce = *read_allreduce(output("mpi", 1));
  EXPECT_THAT(why(study), HasSubstr("the runs reduce by hierarchical, but mpi was measured"));
  EXPECT_THAT(
      exchange_of(study, result_of(study)),
      HasSubstr("(measure with dllaunch bench allreduce --communicator hierarchical --json)"));
  study = trained(2);
  study.allreduce = *read_allreduce(output("hierarchical", 1));
  EXPECT_THAT(why(study), HasSubstr("4 ranks on 2 nodes, but the all-reduce was measured without"));
  study = trained();
  study.allreduce = *read_allreduce(output("hierarchical", 1));
  for (auto& run : study.runs) run.gradient_bytes.reset();
  EXPECT_THAT(why(study), HasSubstr("no run says how many bytes"));
}

TEST(ReadAllReduce, TakesTheModelAndRefusesTheRest) {
  const auto measured = read_allreduce(output("hierarchical", 2));
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->model.communicator, "hierarchical");
  EXPECT_EQ(measured->model.among_ranks->latency_us, 100);
  EXPECT_EQ(measured->model.between_nodes->gbs, 0.1);
  EXPECT_EQ(measured->shape.nodes, 2);
  EXPECT_EQ(measured->us_of_bytes.back().second, 108);
  for (const char* text :
       {"{}", "null", "[]", "[7]", R"([{"models": 3}])", R"([{"models": [3, null]}])",
        R"([{"models": [{"alpha_us": "x", "beta_gbs": 1}]}])",
        R"([{"models": [{"alpha_us": 1, "beta_gbs": 0}]}])"})
    EXPECT_FALSE(read_allreduce(Json::parse(text))) << text;
  EXPECT_THAT(read_allreduce(Json()).error().hint, HasSubstr("bench allreduce --json"));
}

TEST(ReadAllReduce, RefusesNumbersThatNoMachineHas) {
  const auto reads = [](const char* key, const Json& value) {
    auto bench = output("hierarchical", 1);
    bench[1][key] = value;
    bench.erase(0);
    return static_cast<bool>(read_allreduce(bench));
  };
  EXPECT_TRUE(reads("nodes", 2));
  EXPECT_FALSE(reads("nodes", 2147483647)) << "of two ranks";
  EXPECT_FALSE(reads("nodes", 0));
  EXPECT_FALSE(reads("ranks", -4));
  EXPECT_TRUE(reads("bytes", 1LL << 53));
  for (const double bytes : {1e300, 1e16, 0.0, 0.5, -4.0}) EXPECT_FALSE(reads("bytes", bytes));
  for (const double us : {1e300, 0.0, -1.0}) EXPECT_FALSE(reads("us", us));
}

TEST(ReadAllReduce, ShowsANameOnOneLine) {
  auto study = trained();
  auto bench = output("hierarchical", 1);
  bench[1]["backend"] = "a\nb\x1b[31m<c>";
  study.allreduce = *read_allreduce(bench);
  EXPECT_THAT(exchange_of(study, result_of(study)), HasSubstr("but a\\nb<c> was measured"));
  for (auto& run : study.runs) run.communicator.clear();
  EXPECT_THAT(exchange_of(study, result_of(study)), HasSubstr("all-reduce (a\\nb<c>, "));
}

}  // namespace
}  // namespace dllaunch
