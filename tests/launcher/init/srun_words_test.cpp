#include "launcher/init/srun_words.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SrunWords read(const std::string& lines, const std::string& directives = "-N 2") {
  const std::string text = "#!/bin/bash\n#SBATCH " + directives + "\n" + lines + "\n";
  const auto script = lint::read_script(text);
  const auto& command = script.tree.root.children.back();
  return read_srun_words(script, script.launches.back(), command.words, 1);
}

TEST(SrunWords, EndWhereTheProgramBegins) {
  EXPECT_EQ(read("srun -n 4 -l --mpi pmix ./a -n 3").program, 6u);
  EXPECT_EQ(read("srun -- ./a").program, 2u);
  EXPECT_EQ(read("srun -n4").program, 2u);
  EXPECT_EQ(read("A=(-n 4)\nsrun \"${A[@]}\" ./a").program, 2u);
}

TEST(SrunWords, EachHasAFate) {
  const auto got = read(
      "srun -n 4 -l -o out --mpi=pmix -K --container-image=i --container-mounts=/a,/b "
      "--container-writable --no-such ./a");
  EXPECT_THAT(got.extra, ElementsAre("--mpi=pmix"));
  EXPECT_EQ(got.container.image, "i");
  EXPECT_THAT(got.container.mounts, ElementsAre("/a", "/b"));
  EXPECT_THAT(got.dropped,
              ElementsAre(HasSubstr("--label, --output=out: the ranks' output goes to"),
                          "--kill-on-bad-exit: one rank that fails ends the others (recovery:)",
                          "--container-writable: environment.container has no such key",
                          "--no-such: srun does not know it"));
}

TEST(SrunWords, OfATextAreSplitAtItsBlanks) {
  const auto got = read("A=\"--wait=60  --kill-on-bad-exit=1 --mpi pmix\"\nsrun -l $A ./a");
  EXPECT_THAT(got.dropped, ElementsAre(HasSubstr("--label: "),
                                       "--wait=60, --kill-on-bad-exit=1: one rank that fails ends "
                                       "the others (recovery:)"));
  EXPECT_THAT(got.extra, ElementsAre("--mpi=pmix"));
  EXPECT_EQ(got.program, 3u);
  EXPECT_THAT(read("export A='--mpi=pmix'\nsrun ${A} ./a").extra, ElementsAre("--mpi=pmix"));
  for (const std::string unsure :
       {"A='--mpi=pmix -l'\nsrun \"$A\" ./a", "A=\"--mpi=$M\"\nsrun $A ./a",
        "A=--wait=1\nA=--wait=2\nsrun $A ./a", "IFS=,\nA=--wait=1\nsrun $A ./a",
        "A='--mpi=pmix ./b'\nsrun $A ./a", "A='--comment=*'\nsrun $A ./a",
        "A='-l -n'\nsrun $A 4 ./a", "A+=-l\nsrun $A ./a", "A=--wait=1 true\nsrun $A ./a",
        "A=--wait=1\nread A\nsrun $A ./a", "A=--wait=1\nsrun ${A:1} ./a"})
    EXPECT_THAT(read(unsure).dropped, Contains(HasSubstr("known only when the script runs")))
        << unsure;
}

TEST(SrunWords, HaveTheValuesThatVariablesCertainlyHave) {
  EXPECT_EQ(read("I=a.sqsh\nsrun --container-image=$I ./a").container.image, "a.sqsh");
  const auto later = read("I=$(ls)\nsrun --container-image=\"$I\" -n $N ./a");
  EXPECT_THAT(later.dropped, ElementsAre("--container-image=\"$I\", --ntasks=$N: its value is "
                                         "known only when the script runs"));
}

TEST(SrunWords, ThatCountAreListedWhereTheRanksHaveMore) {
  EXPECT_THAT(read("srun --gres=nvme:1,craynetwork:0 -J step ./a").dropped,
              ElementsAre("--gres=nvme:1,craynetwork:0: the ranks have all that the job has",
                          "--job-name=step: the job file's name names the ranks"));
  const std::string job = "-N 2 --ntasks-per-node=4 --gpus-per-node=4";
  for (const std::string narrow :
       {"--gpus-per-node=2", "--gpus-per-node=0", "--gpus-per-node=a100:2", "--gres=gpu:2",
        "--gres=gpu:4,nvme:1", "--gres=none", "--gpus=4", "--gpus=1", "--gpus=0",
        "--gpus-per-task=0", "--tres-per-task=gres/gpu:0"})
    EXPECT_THAT(read("srun " + narrow + " ./a", job).dropped,
                ElementsAre(narrow + ": the ranks have all that the job has"));
  EXPECT_THAT(read("srun -n 4 --gpus-per-task=1 ./a", job).dropped,
              ElementsAre("--gpus-per-task=1: the ranks have all that the job has"));
  for (const std::string all :
       {"--gpus-per-node=4", "--gpus-per-node=a100:4", "--gres=gpu:4", "--gpus=8",
        "--gpus-per-task=1", "--tres-per-task=cpu:2,gres/gpu:1", "-n 8", "-c 4"})
    EXPECT_THAT(read("srun " + all + " ./a", job).dropped, IsEmpty()) << all;
  EXPECT_THAT(read("srun --gpus-per-node=2 ./a").dropped, IsEmpty()) << "the job has the step's";
}

TEST(SrunWords, ExportListsAreRead) {
  const auto list = read_export_list("ALL,A=1,PATH,B='x,y',C=");
  EXPECT_TRUE(list.all);
  EXPECT_THAT(list.assigned,
              ElementsAre(std::pair("A", "1"), std::pair("B", "x,y"), std::pair("C", "")));
  EXPECT_FALSE(read_export_list("NONE").all);
  EXPECT_THAT(read_export_list("").assigned, IsEmpty());
  EXPECT_THAT(read("M=$(date)\nsrun --export=ALL,A=1,M=$M ./a").exports, ElementsAre("M=$M"));
}

TEST(SrunWords, SeveralProgramsAreRefused) {
  EXPECT_THAT(read("srun --multi-prog a.conf").refusal, HasSubstr("`components`"));
  EXPECT_THAT(read("srun ./app : ./b").refusal, HasSubstr("`components`"));
  EXPECT_THAT(read("srun -n 1 ./app x : -n 2 ./b").refusal, HasSubstr("`components`"));
  EXPECT_EQ(read("srun bash -c 'a : b' a:b").refusal, "");
}

}  // namespace
}  // namespace dllaunch
