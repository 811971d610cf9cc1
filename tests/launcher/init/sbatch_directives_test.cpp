#include "launcher/init/sbatch_directives.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string script_of(const std::string& lines) {
  return "#!/bin/bash\n" + lines + "\nsrun x\n";
}

ConvertedDirectives convert(const std::string& lines) {
  const std::string text = script_of(lines);
  return convert_directives(lint::read_script(text));
}

JobCounts counts_in(const std::string& lines) {
  const std::string text = script_of(lines);
  const auto script = lint::read_script(text);
  return counts_of(script.request, script.request);
}

std::string value_of(const ConvertedDirectives& converted, const std::string& key) {
  for (const auto& row : converted.resources)
    if (row.key == key) return row.value.get<std::string>();
  return "absent";
}

TEST(SbatchDirectives, BecomeKeysCountsAndExtras) {
  const std::string lines =
      "#SBATCH -J train -N 2 --ntasks-per-node=4\n#SBATCH -c 8 --gres=gpu:4 -t 1:00:00 -p gpu\n"
      "#SBATCH --mem=64G --hint=nomultithread --mail-type=END --exclusive\n"
      "#SBATCH --output=x.out --array=0-3%2 --account=me --constraint=a100";
  const auto got = convert(lines);
  const auto counts = counts_in(lines);
  EXPECT_EQ(got.name, "train");
  EXPECT_EQ(counts.nodes, 2);
  EXPECT_EQ(counts.tasks_per_node, 4);
  EXPECT_EQ(counts.cpus_per_task, 8);
  EXPECT_EQ(counts.gpus_per_node, 4);
  EXPECT_TRUE(counts.exclusive);
  EXPECT_EQ(value_of(got, "time"), "1:00:00");
  EXPECT_EQ(value_of(got, "partition"), "gpu");
  EXPECT_EQ(value_of(got, "memory"), "64G");
  EXPECT_EQ(value_of(got, "account"), "me");
  EXPECT_EQ(value_of(got, "constraint"), "a100");
  EXPECT_EQ(got.array, "0-3%2");
  EXPECT_THAT(got.sbatch_extra, ElementsAre("--hint=nomultithread", "--mail-type=END"));
  EXPECT_THAT(got.dropped, ElementsAre(HasSubstr("line 5: --output=x.out: the output")));
  EXPECT_THAT(got.reasons, IsEmpty());
}

TEST(SbatchDirectives, TheLastOfSeveralCounts) {
  const std::string lines = "#SBATCH --time=1 --nodes=1\n#SBATCH --time=2 --nodes=3";
  EXPECT_EQ(value_of(convert(lines), "time"), "2");
  EXPECT_EQ(counts_in(lines).nodes, 3);
}

TEST(SbatchDirectives, StayOptionsWhereTheKeyHasNoSuchValue) {
  EXPECT_THAT(convert("#SBATCH --gres=gpu:a100:4 --mem=0 --time=infinite").sbatch_extra,
              ElementsAre("--gres=gpu:a100:4", "--mem=0", "--time=infinite"));
  EXPECT_EQ(counts_in("#SBATCH --gpus-per-node=a100:4").gpus_per_node, 4);
  EXPECT_THAT(convert("#SBATCH --exclusive=user").sbatch_extra, ElementsAre("--exclusive=user"));
  EXPECT_EQ(value_of(convert("#SBATCH --mem=4096"), "memory"), "4096M");
  EXPECT_EQ(convert("#SBATCH --mem-per-gpu=40g").resources.at(0).value.dump(),
            R"({"per_gpu":"40G"})");
  EXPECT_THAT(convert("#SBATCH --mem-per-cpu=4G").sbatch_extra, ElementsAre("--mem-per-cpu=4G"))
      << "no key counts CPUs";
}

TEST(SbatchDirectives, CountGpusAndTasksOfOneNode) {
  EXPECT_EQ(counts_in("#SBATCH --nodes=2 --gpus=8").gpus_per_node, 4);
  EXPECT_EQ(counts_in("#SBATCH --nodes=2 --ntasks=8 --gpus-per-task=1").gpus_per_node, 4);
  EXPECT_EQ(counts_in("#SBATCH --nodes=2 --ntasks=8").tasks_per_node, 4);
  EXPECT_EQ(counts_in("#SBATCH --ntasks=1").nodes, 1);
}

TEST(SbatchDirectives, SayWhyTheyCannotBeConverted) {
  EXPECT_THAT(convert("#SBATCH --nodes=2-4").reasons, ElementsAre(HasSubstr("is a range")));
  EXPECT_THAT(convert("#SBATCH --ntasks=7").reasons, ElementsAre(HasSubstr("write --nodes")));
  EXPECT_THAT(convert("#SBATCH --ntasks=7 --nodes=2").reasons,
              ElementsAre("--ntasks=7 does not divide over 2 nodes"));
  EXPECT_EQ(counts_in("#SBATCH --nodes=2 --gpus=7").gpus_per_node, -1);
  EXPECT_THAT(convert("#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2").reasons,
              ElementsAre(HasSubstr("heterogeneous")));
}

}  // namespace
}  // namespace dllaunch
