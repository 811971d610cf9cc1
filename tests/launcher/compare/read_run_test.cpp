#include "launcher/compare/read_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* job = R"(name: tiny
resources: {ranks_per_node: 2, device: cpu}
train: {model: lenet, dataset: {kind: synthetic, images: 64}, epochs: 2}
)";

class ReadCompared : public testing::Test {
 protected:
  /// A run that trained two epochs, with a restart of the clock's minute in between.
  std::string run(const std::string& folder) {
    const auto dir =
        place_.store({.folder = folder, .name = "tiny", .status = "completed", .trains = true});
    place_.append(dir, "job.yaml", job);
    place_.append(
        dir, "events.jsonl",
        "{\"time\":100,\"event\":\"start\",\"ranks\":2}\n"
        "{\"time\":110,\"event\":\"epoch\",\"epoch\":1,\"step\":4,\"loss\":2,\"val_loss\":3}\n"
        "{\"time\":170,\"event\":\"epoch\",\"epoch\":2,\"step\":8,\"loss\":1,\"val_accuracy\":0.5}"
        "\n");
    return dir;
  }
  std::string folder(const std::string& name, const std::string& file, const std::string& text) {
    const auto dir = place_.path_of(name);
    fs::create_directories(dir);
    std::ofstream(dir + "/" + file) << text;
    return dir;
  }
  Result<ComparedRun> read(const std::string& query) { return read_compared(place_.system, query); }

  RunPlace place_;
};

TEST_F(ReadCompared, ARunHasItsCurvesOverTime) {
  const auto dir = run("a");
  const auto one = read(dir);
  ASSERT_TRUE(one) << one.error().what;
  EXPECT_EQ(one->label, "a");
  EXPECT_EQ(one->state, "completed");
  ASSERT_EQ(one->epochs.size(), 2u);
  EXPECT_EQ(one->epochs[1].wall_s, 70);
  EXPECT_EQ(one->epochs[1].val_accuracy, 0.5);
  EXPECT_EQ(one->job["train"]["seed"], 1) << "with its defaults";
  EXPECT_THAT(one->notes, Contains(HasSubstr("it has no provenance.json")));
  EXPECT_TRUE(read("tiny")) << "by the name of its job";
}

TEST_F(ReadCompared, WhatIsDamagedIsNoted) {
  const auto dir = run("a");
  place_.append(dir, "job.yaml", "nonsense: [");
  place_.append(dir, "provenance.json", "{");
  place_.append(dir, "code.diff", "+x\n");
  const auto one = read(dir);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->job.is_null());
  EXPECT_EQ(one->code_diff, "+x\n");
  EXPECT_THAT(one->notes, Contains(HasSubstr("its job file cannot be read: ")));
  EXPECT_THAT(one->notes, Contains("provenance.json is damaged"));
}

TEST_F(ReadCompared, AnElasticRunHasTheRanksOfItsEnd) {
  const auto dir =
      place_.store({.folder = "a", .job_id = "7", .status = "completed", .elastic = true});
  EXPECT_EQ(read(dir)->ranks, 4);
  place_.append(dir, "supervisor.jsonl",
                R"({"time":1,"event":"attempt","job":"7","allocation":0,"nodes":1,"held":1})"
                "\n");
  EXPECT_EQ(read(dir)->ranks, 2);
  EXPECT_EQ(read(dir)->nodes, 1);
}

TEST_F(ReadCompared, TheNewestStartCounts) {
  const auto dir = run("a");
  place_.append(dir, "provenance.json", R"({"submissions":[{"host":"a"},{"host":"b"}]})");
  EXPECT_EQ(read(dir)->origin->host, "b");
}

TEST_F(ReadCompared, ACommandsValueIsWhatItsStudyMeasures) {
  const auto dir = place_.store({.folder = "c", .name = "ddp", .status = "completed"});
  place_.append(dir, "job.yaml",
                "name: ddp\nrun: [./x]\nstudy: {value: '([0-9]+) samples', unit: samples/s}\n");
  place_.append(dir, "out/rank-0000-n1.log", "7 samples\n");
  const auto one = read(dir);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->value, 7);
  EXPECT_EQ(one->unit, "samples/s");
}

TEST_F(ReadCompared, AStudyIsItsSizesAndItsLargestRun) {
  const auto study = folder("scaling", "study.json", R"({"name":"tiny","unit":"images/s",
    "better":"higher","runs":[{"ranks":1,"nodes":1,"repeat":1,"run":"one","value":100},
    {"ranks":2,"nodes":1,"repeat":1,"run":"two","value":180},
    {"ranks":4,"nodes":1,"repeat":1,"run":"four","reason":"failed"}]})");
  EXPECT_FALSE(read(study)) << "its run is not there";
  run("scaling/two");
  const auto one = read(study + "/");
  ASSERT_TRUE(one) << one.error().what;
  EXPECT_EQ(one->kind, ComparedKind::study);
  EXPECT_EQ(one->label, "scaling");
  EXPECT_EQ(one->path, study);
  EXPECT_EQ(one->run, study + "/two");
  EXPECT_EQ(one->state, "study, 2 of 3 runs");
  EXPECT_EQ(one->value, 180);
  ASSERT_EQ(one->sizes.size(), 2u);
  EXPECT_EQ(one->sizes[1].efficiency, 0.9);
  EXPECT_TRUE(one->epochs.empty());
  EXPECT_FALSE(read(folder("empty", "study.json", "{}")));
  EXPECT_THAT(read(folder("torn", "study.json", "{")).error().what, HasSubstr("is damaged"));
}

TEST_F(ReadCompared, ASweepIsItsBestTrial) {
  const auto sweep =
      folder("search", "sweep.json", R"({"name":"a","best":{"number":2,"run":"trial-2"},
    "trials":[{"number":1,"run":"trial-1","state":"failed"},7,{"number":2,"run":"trial-2"}]})");
  run("search/trial-2");
  const auto job_name = [&](const std::string& name) {
    std::ofstream(sweep + "/trial-2/job.yaml") << "name: " << name << "\nrun: [./x]\n";
  };
  job_name("a-2");
  const auto one = read(sweep);
  ASSERT_TRUE(one) << one.error().what;
  EXPECT_EQ(one->kind, ComparedKind::sweep);
  EXPECT_EQ(one->label, "search, trial 2");
  EXPECT_EQ(one->state, "completed, best of 3 trials");
  EXPECT_EQ(one->epochs.size(), 2u);
  const auto another = testing::Contains("trial-2 holds another run than the trial's");
  EXPECT_THAT(one->notes, testing::Not(another));
  job_name("b-2");
  EXPECT_THAT(read(sweep)->notes, another);
  for (const char* text : {"{}", R"({"best":null})", R"({"best":7})", R"({"best":{"run":3}})"})
    EXPECT_THAT(read(folder("none", "sweep.json", text)).error().what, HasSubstr("no best trial"));
}

}  // namespace
}  // namespace dllaunch
