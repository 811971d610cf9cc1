// Two runs that were really trained, and what their records say, compared; the page in a real
// browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "tests/end_to_end/browser.hpp"
#include "tests/end_to_end/local_run.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class Compare : public LocalRun {
 protected:
  /// In a repository with one commit, of which train.py has changed since.
  void make_repository() {
    work_.file("train.py", "one\n");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"init", "-q"},
          {"add", "train.py"},
          {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"}}) {
      std::vector<std::string> argv = {"git", "-C", work_.path()};
      argv.insert(argv.end(), words.begin(), words.end());
      const auto done = system_.run(argv, 20s);
      ASSERT_TRUE(done && done->exit_code == 0) << (done ? done->err : done.error().what);
    }
  }
  std::string path_of(const std::string& name) const { return work_.path() + "/" + name; }
  void train(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> all = {"run", job(), "--local", "--run-dir", path_of(name)};
    all.insert(all.end(), more.begin(), more.end());
    const auto ended = work_.run(all);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(unexplained_files(path_of(name)), std::vector<std::string>());
  }
  void train_two() {
    make_repository();
    train("first", {"--set=name=<script>document.title=1</script>",
                    "--set=environment.variables.HF_TOKEN=topsecret"});
    work_.file("train.py", "two\n");
    train("second", {"--set=train.optimizer.lr=0.02", "--set=reproducibility.diff=true",
                     "--set=environment.variables.OMP_PROC_BIND=true"});
  }
  Json record_of(const std::string& name) {
    return Json::parse(work_.text_of(name + "/provenance.json"))["submissions"];
  }

  PosixSystem system_{Console{}};
};

TEST_F(Compare, TwoTrainingsSideBySide) {
  if (!system_.find_program("git")) GTEST_SKIP() << "no git";
  train_two();
  const auto first = record_of("first")[0];
  EXPECT_EQ(first["code"]["dirty"], false);
  EXPECT_EQ(first["code"]["revision"].get<std::string>().size(), 40u);
  EXPECT_EQ(first["left_out"][0], "HF_TOKEN");
  EXPECT_EQ(first["seeds"]["train.seed"], "1");
  EXPECT_EQ(record_of("second")[0]["code"]["dirty"], true);
  EXPECT_THAT(work_.text_of("second/code.diff"), HasSubstr("-one\n+two\n"));
  EXPECT_EQ(work_.text_of("first/job.given.yaml"), tiny_local_job) << "as it was written";
  EXPECT_THAT(work_.text_of("first/provenance.json"), Not(HasSubstr("topsecret")));

  const auto told = work_.run({"compare", path_of("first"), path_of("second"), path_of("third")});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.err, HasSubstr("third is left out: no run"));
  for (const char* part :
       {"images/s", "time to validation loss ", "train.optimizer.lr", "uncommitted changes  no",
        "OMP_PROC_BIND", "HF_TOKEN", "(left out)", "look like secrets: HF_TOKEN"})
    EXPECT_THAT(told.out, HasSubstr(part));
  EXPECT_THAT(told.out, Not(HasSubstr("topsecret")));

  const auto json =
      work_.run({"compare", path_of("first"), path_of("second"), "--accuracy", "0.01", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto document = Json::parse(json.out);
  EXPECT_EQ(document["runs"][0]["epochs"].size(), 2u);
  EXPECT_GT(document["runs"][1]["epochs"][1]["wall_s"], document["runs"][1]["epochs"][0]["wall_s"]);
  EXPECT_EQ(document["targets"][1]["value"], 0.01);
  EXPECT_THAT(json.out, Not(HasSubstr("topsecret")));

  EXPECT_EQ(work_.run({"compare", path_of("first")}).exit_code, 2);
  const auto alone = work_.run({"compare", path_of("first"), path_of("third")});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("fewer than two runs can be read"));
  EXPECT_EQ(work_.run({"compare", path_of("first"), path_of("second"), "-o", "x"}).exit_code, 2);
}

TEST_F(Compare, AContinuedRunHasTwoRecords) {
  train("first", {});
  const auto cost = [this] { return Json::parse(work_.text_of("first/summary.json")); };
  const double before = cost()["core_hours"].get<double>();
  const auto more = work_.run({"run", path_of("first"), "--set", "train.epochs=3"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_GT(cost()["core_hours"], before) << "its books cover both";
  EXPECT_EQ(cost()["submissions"], 2);
  EXPECT_EQ(unexplained_files(path_of("first")), std::vector<std::string>());
  ASSERT_EQ(record_of("first").size(), 2u);
  EXPECT_EQ(record_of("first")[1]["sets"][0], "train.epochs=3");
  EXPECT_EQ(work_.text_of("first/job.given.yaml"), tiny_local_job);
}

TEST_F(Compare, ACommandsPythonIsRecorded) {
  if (!system_.find_program("python3")) GTEST_SKIP() << "no python3";
  const auto file = work_.file("python.yaml",
                               "name: python\nresources: {ranks_per_node: 1, device: cpu}\n"
                               "run: [python3, -c, 'print(1)']\n");
  const auto ended = work_.run({"run", file, "--local", "--run-dir", path_of("python")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(record_of("python")[0]["python"]["version"].get<std::string>(), HasSubstr("3."));
}

TEST_F(Compare, ItsPageIsWholeInABrowserAtAnySizeAndOnPaper) {
  if (!system_.find_program("chromium")) GTEST_SKIP() << "unavailable: chromium";
  if (!system_.find_program("git")) GTEST_SKIP() << "no git";
  train_two();
  const auto made = work_.run({"compare", path_of("first"), path_of("second"), "--html"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string page = path_of("compare.html");
  EXPECT_EQ(made.out, page + "\n");
  expect_whole_page(system_, work_.path(), page, "compare", 3000,
                    {"&lt;script&gt;", "Validation loss over epochs", ">epoch</text>",
                     "seconds since the first start", "train.optimizer.lr"});
  EXPECT_THAT(work_.text_of("compare.html"), Not(HasSubstr("topsecret")));
}

}  // namespace
}  // namespace dllaunch
