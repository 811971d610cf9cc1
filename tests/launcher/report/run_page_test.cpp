#include "launcher/report/run_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

RunForPage small_record() {
  RunForPage record;
  record.run.dir.path = "/runs/a b";
  record.run.plan.name = "<b>";
  record.run.summary = Json::parse(
      R"({"status":"failed","seconds":3600,"queue_seconds":60,"ranks":2,"epochs":3,"goodput":0.5,
          "core_hours":4,"gpu_hours":1,"peak_memory_bytes":1073741824,"energy_joules":null,
          "wasted":{"seconds":36,"core_hours":0.04,"gpu_hours":0.01},
          "reason":"rank 1 <n1> exited with code 1","advice":"try"})");
  record.job_file = "name: x\nenvironment: {variables: {HF_TOKEN: abc}}\n";
  Topology node;
  node.packages = 1;
  node.numa = {{.index = 0, .cpus = IdSet::range(0, 3)}};
  for (int cpu = 0; cpu < 4; ++cpu) node.cores.push_back({.cpus = {cpu}});
  node.gpus = {{.index = 0, .vendor = "nvidia", .pci = "0000:01:00.0", .numa = {0}}};
  node.allowed_cpus = node.present_cpus = IdSet::range(0, 3);
  node.allowed_numa = {0};
  const Json plan = {{"node", to_json(node)}, {"binding", Json::parse(R"({
      "policy": "closest", "ranks": [
        {"local_rank": 0, "mask": "0x3", "gpus": [{"index": 0, "pci": "0000:01:00.0"}]},
        {"local_rank": 1, "mask": "0xc", "gpus": [{"index": 0, "pci": "0000:01:00.0"}]}]})")}};
  record.stored = stored_placement(plan);
  return record;
}

TEST(RunPage, TellsTheRun) {
  const auto page = html_page(run_page(small_record()));
  for (const char* part :
       {"&lt;b&gt;", "failed", "1:00:00", "rank 1 &lt;n1&gt; exited with code 1", "<b>4</b>",
        "<b>1</b>", "GPU-hours", "<b>1.00 GiB</b>", "<b>unknown</b>",
        "<b>36.0 s, 0.04 core-hours, 0.01 GPU-hours</b>", "GPU 0: ranks 0-1", "rank 1: CPUs 2-3",
        "HF_TOKEN: (left out)", "dllaunch run &#39;/runs/a b/job.yaml&#39;", "<b>50 %</b>"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* part : {"abc", "Curves", "Restarts", "nan", "<b>>"})
    EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(RunPage, WhereTheRanksHung) {
  auto record = small_record();
  record.stacks = StoredStacks{.time_s = 1, .text = "rank 1 is in <lambda>\n\n[0-1] main"};
  const auto page = html_page(run_page(record));
  EXPECT_THAT(page, HasSubstr("Where the ranks hung"));
  EXPECT_THAT(page, HasSubstr("rank 1 is in &lt;lambda&gt;"));
  record.stacks->kind = StacksKind::time_limit;
  const auto near_the_limit = html_page(run_page(record));
  EXPECT_THAT(near_the_limit, HasSubstr("Where the ranks were"));
  for (const auto& other : {near_the_limit, html_page(run_page(small_record()))})
    EXPECT_THAT(other, Not(HasSubstr("Where the ranks hung")));
}

TEST(RunPage, ARunThatIsNotOverHasAPage) {
  auto record = small_record();
  record.run.summary = Json();
  record.so_far = {{"core_hours", 0.5}, {"gpu_hours", 0.25}};
  EXPECT_THAT(html_page(run_page(record)), HasSubstr("core-hours so far"));
  EXPECT_THAT(html_page(run_page(record)), HasSubstr("not ended"));
  EXPECT_THAT(html_page(run_page({})), HasSubstr("A run"));
}

}  // namespace
}  // namespace dllaunch
