#include "launcher/compare/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/json_fields.hpp"
#include "tests/launcher/compare/compared_runs.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

std::vector<std::string> cells_of(const Comparison& comparison, const std::string& name) {
  for (const auto& row : figure_rows(comparison))
    if (row.name == name) return row.cells;
  return {};
}

TEST(Comparison, HasAColumnARunAndARowAFigure) {
  const auto compared =
      compare_runs({trained("a", 8, 4), trained("b", 16, 3), scaled("c")}, {}, {});
  EXPECT_THAT(cells_of(compared, "state"), ElementsAre("completed", "completed", "completed"));
  EXPECT_THAT(cells_of(compared, "throughput"),
              ElementsAre("1,234 images/s", "1,234 images/s", "1,234 images/s"));
  EXPECT_THAT(cells_of(compared, "epochs"), ElementsAre("4", "3", ""));
  EXPECT_THAT(cells_of(compared, "validation loss, last"), ElementsAre("0.75", "3", ""));
  EXPECT_THAT(cells_of(compared, "time to validation loss 3"),
              ElementsAre("20.0 s, epoch 2", "30.0 s, epoch 3", ""));
  EXPECT_THAT(cells_of(compared, "goodput"), ElementsAre("50 %", "50 %", "50 %"));
  EXPECT_THAT(cells_of(compared, "wall time"), ElementsAre("45.0 s", "35.0 s", "5.0 s"));
  const auto missed = compare_runs({trained("a", 8, 4), trained("b", 16, 3)}, {}, {.loss = 1});
  EXPECT_THAT(cells_of(missed, "time to validation loss 1"),
              ElementsAre("40.0 s, epoch 4", "not reached"));
}

TEST(Comparison, WhatARunCostIsUnknownAndNever0WhereNothingSaysIt) {
  auto one = trained("a", 8, 4);
  auto with_gpus = trained("b", 8, 4);
  one.summary = {{"core_hours", 0.5},
                 {"gpu_hours", 0.0},
                 {"peak_memory_bytes", 1 << 20},
                 {"peak_memory_by_rank", {1 << 10, 1 << 20}},
                 {"energy_joules", nullptr},
                 {"wasted", {{"seconds", 0.0}}}};
  with_gpus.summary = {
      {"core_hours", 1.0},     {"gpu_hours", 2.0},
      {"energy_joules", 9.0},  {"energy_source", "nvml"},
      {"energy_seconds", 3.0}, {"wasted", {{"seconds", 1.5}, {"core_hours", 0.1}}}};
  const auto compared = compare_runs({one, with_gpus, trained("running", 8, 4)}, {}, {});
  EXPECT_THAT(cells_of(compared, "core-hours"), ElementsAre("0.5", "1", "unknown"));
  EXPECT_THAT(cells_of(compared, "GPU-hours"), ElementsAre("0", "2", "unknown"));
  EXPECT_THAT(cells_of(compared, "peak memory of a rank"),
              ElementsAre("1.0 MiB (rank 1)", "unknown", "unknown"));
  EXPECT_THAT(cells_of(compared, "energy"),
              ElementsAre("unknown", "9 J (nvml, over 3.0 s)", "unknown"));
  EXPECT_THAT(cells_of(compared, "wasted by interruptions"),
              ElementsAre("0", "1.5 s, 0.1 core-hours", "unknown"));
  const auto json = to_json(compared);
  EXPECT_EQ(json["runs"][0]["books"]["peak_memory_by_rank"][1], 1 << 20);
  EXPECT_EQ(json["runs"][1]["books"]["gpu_hours"], 2);
  for (const char* key : {"core_hours", "gpu_hours", "peak_memory_bytes", "energy_joules"})
    EXPECT_TRUE(json["runs"][2]["books"].at(key).is_null()) << key;
  EXPECT_TRUE(json["runs"][2]["books"]["wasted"]["seconds"].is_null()) << "of one shape";
}

TEST(Comparison, BooksSayHowManySubmissionsTheyCover) {
  auto continued = trained("a", 8, 4);
  auto once = trained("b", 8, 4);
  continued.summary = {{"core_hours", 0.5}, {"submissions", 3}};
  once.summary = {{"core_hours", nullptr}};
  const auto json = to_json(compare_runs({continued, once, trained("running", 8, 4)}, {}, {}));
  const auto books = [&](int run) { return json["runs"][run]["books"]; };
  EXPECT_EQ(value_at<int>(books(0), "submissions"), 3);
  EXPECT_EQ(value_at<int>(books(1), "submissions"), 1);
  ASSERT_TRUE(books(2).contains("submissions"));
  EXPECT_TRUE(books(2)["submissions"].is_null());
}

TEST(Comparison, SaysWhichRunsHaveNoSuchValue) {
  const auto notes_of = [](std::vector<ComparedRun> runs, const TargetsWanted& wanted) {
    return compare_runs(std::move(runs), {}, wanted).notes;
  };
  const auto a = trained("a", 8, 4);
  auto blind = trained("b", 8, 4);
  for (auto& epoch : blind.epochs) epoch.accuracy = epoch.val_accuracy = std::nullopt;
  EXPECT_THAT(notes_of({a, blind}, {.loss = 1, .accuracy = 0.5}),
              ElementsAre("--accuracy 0.5: without a value of accuracy: b"));
  EXPECT_THAT(notes_of({scaled("c"), scaled("d")}, {.loss = 1}),
              ElementsAre("--loss 1: no run has a value of loss"));
  auto training = a;
  auto validation = a;
  for (auto& epoch : training.epochs) epoch.val_loss.reset();
  for (auto& epoch : validation.epochs) epoch.loss.reset();
  EXPECT_THAT(notes_of({training, validation}, {.loss = 1}),
              ElementsAre("--loss 1: some runs have loss of the training only, others of the "
                          "validation only"));
  EXPECT_THAT(notes_of({a, a}, {.loss = 0.0001}), ElementsAre()) << "it is not reached";
  EXPECT_THAT(notes_of({a, blind}, {}), ElementsAre()) << "not asked for";
}

TEST(Comparison, LeavesOutWhatNoRunHas) {
  const ComparedRun bare{.label = "a"};
  EXPECT_EQ(figure_rows(compare_runs({bare, bare}, {}, {})).size(), 2u) << "ranks and nodes";
}

TEST(Comparison, TellsRunsOfOneNameApart) {
  const auto compared = compare_runs(
      {trained("a", 8, 4), trained("a", 8, 4), trained("a (2)", 8, 4), trained("", 8, 4)}, {}, {});
  std::vector<std::string> labels;
  for (const auto& run : compared.runs) labels.push_back(run.label);
  EXPECT_THAT(labels, ElementsAre("a", "a (2)", "a (2) (2)", "run"));
}

TEST(Comparison, AsJsonHasEverything) {
  const auto json = to_json(compare_runs({trained("a", 8, 4), scaled("b")},
                                         {{.query = "c", .why = "no such run"}}, {.loss = 1}));
  EXPECT_EQ(json["runs"][0]["epochs"].size(), 4u);
  EXPECT_EQ(json["runs"][0]["run"], "/runs/a");
  EXPECT_EQ(json["runs"][1]["kind"], "study");
  EXPECT_EQ(json["runs"][1]["sizes"][2]["value"], 360);
  EXPECT_EQ(json["targets"][0]["of"], "loss");
  EXPECT_EQ(json["targets"][0]["reached"][0]["epoch"], 4);
  EXPECT_TRUE(json["targets"][0]["reached"][1].is_null());
  EXPECT_EQ(json["differences"]["job"][0]["name"], "name");
  EXPECT_TRUE(json["differences"]["packages"].is_array());
  EXPECT_EQ(json["left_out"][0]["why"], "no such run");
  EXPECT_EQ(json["notes"][0], "--loss 1: without a value of loss: b");
}

TEST(Comparison, AsJsonHasMachinesAndCodeThoughTheyDoNotDiffer) {
  auto one = trained("a", 8, 4);
  one.hosts = "n[1-2]";
  one.hardware = "64 cores";
  const auto json = to_json(compare_runs({one, one, {.label = "bare"}}, {}, {}));
  EXPECT_EQ(json["differences"]["places"].size(), 2u) << "of the bare run";
  for (const int run : {0, 1}) {
    EXPECT_EQ(json["runs"][run]["hosts"], "n[1-2]");
    EXPECT_EQ(json["runs"][run]["hardware"], "64 cores");
    EXPECT_EQ(json["runs"][run]["origin"], Json({{"submitted_from", "login1"},
                                                 {"dllaunch", "0.1.0"},
                                                 {"revision", "0123"},
                                                 {"branch", "main"},
                                                 {"uncommitted_changes", false}}));
  }
  for (const char* key : {"hosts", "hardware"})
    EXPECT_TRUE(json["runs"][2].at(key).is_null()) << key;
  EXPECT_TRUE(json["runs"][2]["origin"]["revision"].is_null()) << "of one shape";
}

}  // namespace
}  // namespace dllaunch
