#include "launcher/job/experiment_keys.hpp"

#include <algorithm>
#include <iterator>

#include "launcher/job/key_rules.hpp"

namespace dllaunch {
namespace {

std::vector<JobKey> study_keys() {
  Json unit = line();
  unit.erase("pattern");
  unit["x-expected"] = "text such as samples/s";
  return {
      {.path = "study",
       .rules = block(),
       .doc = "how `dllaunch study` measures a run: (docs/how-to/study.md); of train: it knows "
              "images/s itself"},
      {.path = "study.value",
       .rules = optional_line(),
       .initial = nullptr,
       .doc =
           "extended regular expression for lines of rank 0's output: the text of its (group) "
           "is the number; or a path into its lines of JSON: $.speed.mean; the last match counts",
       .example = "([0-9.]+) samples/s"},
      {.path = "study.step",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "instead: an expression for lines that begin with a date and time: the text of its "
              "(group) is the step's number; the value is steps/s, without the first tenth",
       .example = "step ([0-9]+)"},
      {.path = "study.unit",
       .rules = unit,
       .initial = "",
       .doc = "the number's unit, for tables and plots",
       .example = "samples/s"},
      {.path = "study.better",
       .rules = choices({"higher", "lower"}),
       .initial = "higher",
       .doc = "higher: the number is a rate of all ranks together; lower: a time"},
      {.path = "reproducibility",
       .rules = block(),
       .doc = "what a run keeps of where it comes from (docs/how-to/compare.md)"},
      {.path = "reproducibility.diff",
       .rules = flag(),
       .initial = false,
       .doc = "keep what differs from the git revision, up to 1 MiB, as RUN/code.diff"},
  };
}

/// Either end of a range, or all choices.
Json values(const char* type, int least, int most, const char* expected) {
  return {{"type", Json::array({"array", "null"})},
          {"items", {{"type", type}}},
          {"minItems", least},
          {"maxItems", most},
          {"default", nullptr},
          {"x-expected", expected}};
}

/// One parameter: exactly one of the ranges. read_space() (launcher/sweep) says which is missing.
Json parameter() {
  Json choice = values("number", 1, 1000, "a list of values");
  Json any = Json::array();  // in this order, so that 32 is a number and not a text
  for (const char* type : {"integer", "number", "boolean", "null", "string"})
    any.push_back({{"type", type}});
  choice["items"] = {{"anyOf", any}};
  Json steps = whole(1, 1'000'000);
  steps["type"] = Json::array({"integer", "null"});
  steps["default"] = nullptr;
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties",
           {{"linear", values("number", 2, 2, "two numbers, as [0.8, 0.99]")},
            {"log", values("number", 2, 2, "two numbers above 0, as [0.001, 0.1]")},
            {"int", values("integer", 2, 2, "two whole numbers, as [1, 8]")},
            {"choice", choice},
            {"steps", steps}}},
          {"x-expected", "a block such as {log: [0.001, 0.1]} or {choice: [32, 64]}"}};
}

Json count_or_null(int minimum, int maximum) {
  Json rules = whole(minimum, maximum);
  rules["type"] = Json::array({"integer", "null"});
  return rules;
}

std::vector<JobKey> search_keys() {
  const Json parameters = {
      {"type", Json::array({"object", "null"})},
      {"additionalProperties", parameter()},
      {"x-expected", "a block such as {train.optimizer.lr: {log: [0.001, 0.1]}}"}};
  const Json optuna = {
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::array({"optuna"})},
      {"properties",
       {{"optuna",
         {{"type", "string"},
          {"pattern", "^[A-Za-z][A-Za-z0-9_]*$"},
          {"x-expected", "the name of a sampler of Optuna, such as TPESampler"}}}}}};
  const Json sampler = {{"anyOf", Json::array({choices({"random", "grid"}), optuna})}};
  return {
      {.path = "sweep",
       .rules = block(),
       .doc = "what `dllaunch sweep` tries (docs/how-to/sweep.md)"},
      {.path = "sweep.parameters",
       .rules = parameters,
       .initial = nullptr,
       .doc = "keys of this file, or with run: {names} in the command or in a variable, each with "
              "linear: or log: [LOW, HIGH], int: [LOW, HIGH] or choice: [...]; a grid also needs "
              "steps: of a range",
       .example = {{"train.optimizer.lr", {{"log", Json::array({0.001, 0.1})}}}}},
      {.path = "sweep.trials",
       .rules = count_or_null(1, 100'000),
       .initial = nullptr,
       .doc = "how many; null: 32, or all of a grid"},
      {.path = "sweep.sampler",
       .rules = sampler,
       .initial = "random",
       .doc = "random: evenly spread (Sobol); grid: every combination; {optuna: TPESampler}: a "
              "sampler of Optuna, if python3 has it"},
      {.path = "sweep.seed",
       .rules = whole(0, 2'147'483'647),
       .initial = 1,
       .doc = "of the sampler: another number, other trials"},
      {.path = "sweep.scheduler",
       .rules = choices({"none", "asha"}),
       .initial = "none",
       .doc = "asha: trials begin with few epochs, and the best of them continue from their "
              "checkpoints"},
      {.path = "sweep.min_epochs",
       .rules = whole(1, 1'000'000),
       .initial = 1,
       .doc = "with asha: epochs of a trial before it is judged"},
      {.path = "sweep.max_epochs",
       .rules = count_or_null(1, 1'000'000),
       .initial = nullptr,
       .doc = "with asha: epochs of the best trials; null: train.epochs; run: has no other"},
      {.path = "sweep.reduction",
       .rules = whole(2, 100),
       .initial = 2,
       .doc = "with asha: one of so many trials continues, with so many times the epochs"},
  };
}

std::vector<JobKey> result_keys() {
  Json hours = {{"type", Json::array({"number", "null"})},
                {"exclusiveMinimum", 0},
                {"x-expected", "a number of hours"}};
  return {
      {.path = "sweep.metric",
       .rules = line(),
       .initial = "val_accuracy",
       .doc = "with train: what to compare, a column of metrics.csv; with run: only its name"},
      {.path = "sweep.value",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "with run: where the metric is in rank 0's output, as study.value; the last match "
              "counts",
       .example = "val_acc=([0-9.]+)"},
      {.path = "sweep.direction",
       .rules = choices({"auto", "maximize", "minimize"}),
       .initial = "auto",
       .doc = "which values are better; auto: the lower of a loss, an error or seconds, by the "
              "metric's name, else the higher"},
      {.path = "sweep.concurrent",
       .rules = automatic_or(whole(1, 1000)),
       .initial = "auto",
       .doc = "trials at a time: Slurm jobs, or on one machine equal parts of its cores and GPUs; "
              "auto: 4 on Slurm, else as many as there are GPUs for, and without GPUs 1"},
      {.path = "sweep.gpu_hours",
       .rules = hours,
       .initial = nullptr,
       .doc = "no trial starts once all together have used these"},
      {.path = "sweep.until",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "no trial starts after this moment, in local time",
       .example = "2026-12-24 18:00"},
      {.path = "sweep.nodes",
       .rules = count_or_null(1, 100000),
       .initial = nullptr,
       .doc = "on Slurm, all trials share one job of so many nodes, side by side on them and on "
              "equal parts of each; null: each trial is a job",
       .example = "2"},
      {.path = "sweep.time",
       .rules = slurm_duration(),
       .initial = nullptr,
       .doc = "with sweep.nodes: the time limit of that job; null: resources.time for each round "
              "of trials",
       .example = "12:00:00"},
  };
}

}  // namespace

std::vector<JobKey> experiment_keys() {
  std::vector<JobKey> keys;
  for (const auto part : {study_keys, search_keys, result_keys}) {
    auto rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace dllaunch
