#include "launcher/init/sbatch_body.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ConvertedBody convert(const std::string& lines, const std::string& directives = "--nodes=2") {
  const std::string text = "#!/bin/bash\n#SBATCH " + directives + "\n" + lines + "\n";
  return convert_body(lint::read_script(text));
}

TEST(SbatchBody, SplitsBeforeItsStep) {
  const auto got = convert(
      "module purge\nmodule load a b/1\nexport X=1 Y='two words'\ncd src\nD=$HOME/data\n"
      "srun --label --mpi=pmix python train.py $D > log 2>&1 || exit 1\necho done");
  EXPECT_THAT(got.reasons, IsEmpty());
  EXPECT_THAT(got.modules, ElementsAre("a", "b/1"));
  EXPECT_THAT(got.variables, ElementsAre(std::pair("X", "1"), std::pair("Y", "two words")));
  EXPECT_EQ(got.setup,
            "set +e  # as in the script\ncd src\nD=$HOME/data\n"
            "export variables_of_the_script=$(declare -p D)\n");
  EXPECT_EQ(got.run, "eval \"$variables_of_the_script\"\npython train.py $D");
  EXPECT_EQ(convert("true\nexport E=$(date)\nsrun x $E $HOME").run, "x $E $HOME");
  EXPECT_THAT(got.srun_extra, ElementsAre("--mpi=pmix"));
  EXPECT_THAT(got.dropped, ElementsAre(HasSubstr("line 8: what follows the ranks"),
                                       "line 9: after the ranks: echo done"));
}

TEST(SbatchBody, HandsArraysToTheRanks) {
  const auto got = convert("ARGS=(--lr 1)\nsrun python t.py \"${ARGS[@]}\"");
  EXPECT_THAT(got.setup, HasSubstr("export variables_of_the_script=$(declare -p ARGS)\n"));
  EXPECT_EQ(got.run, "eval \"$variables_of_the_script\"\npython t.py \"${ARGS[@]}\"");
}

TEST(SbatchBody, EvaluatesOnceWhatTheScriptDoes) {
  const auto got =
      convert("srun torchrun --rdzv_endpoint=$(hostname):29500 -n \"$((2 * N))\" t.py");
  EXPECT_THAT(got.setup, HasSubstr("once_1=$(hostname)\nonce_2=$((2 * N))\n"));
  EXPECT_EQ(got.run,
            "eval \"$variables_of_the_script\"\n"
            "torchrun --rdzv_endpoint=${once_1}:29500 -n \"${once_2}\" t.py");
  EXPECT_EQ(got.plain_setup, "");
  EXPECT_EQ(convert("srun bash -c 'echo $(hostname)'").run, "bash -c 'echo $(hostname)'");
}

TEST(SbatchBody, KnowsWhichVariablesHoldOptionsOfSrun) {
  const auto got = convert("O=(--container-image $I)\nR=torchrun\nsrun -l \"${O[@]}\" $R t.py");
  EXPECT_THAT(got.run, HasSubstr("\n$R t.py"));
  EXPECT_THAT(got.dropped, ElementsAre(HasSubstr("srun's --container-image: its value is known")));
  EXPECT_THAT(convert("A=\nif x; then A=--auto-resume=1; fi\nsrun $A python t.py").dropped,
              ElementsAre(HasSubstr("srun's $A: its options are known only when")));
  const auto maybe =
      convert("if x; then\nO=(--container-image a.sqsh)\nfi\nsrun \"${O[@]}\" python t.py");
  EXPECT_EQ(maybe.image, "");
  EXPECT_THAT(maybe.dropped, ElementsAre(HasSubstr("srun's \"${O[@]}\"")));
  EXPECT_EQ(convert("O=(--container-image a.sqsh)\nsrun \"${O[@]}\" python t.py").image, "a.sqsh");
  const auto known = convert("srun --container-image a.sqsh --container-mounts=/a:/b,/c x -l");
  EXPECT_EQ(known.image, "a.sqsh");
  EXPECT_THAT(known.mounts, ElementsAre("/a:/b", "/c"));
  EXPECT_EQ(known.run, "x -l");
  EXPECT_EQ(convert("srun -n 8 -N 2 x").request.tasks_per_node(), 4);
}

TEST(SbatchBody, KeepsEarlierStepsInSetup) {
  const auto got = convert("srun hostname\nsrun python prepare.py\nsrun python train.py");
  EXPECT_EQ(got.run, "python train.py");
  EXPECT_THAT(got.setup, HasSubstr("srun hostname\nsrun python prepare.py\n"));
}

TEST(SbatchBody, TakesMpirunForItsRanks) {
  const auto got = convert("cd x\nmpirun -np 8 --bind-to core -x A=1 --mca btl tcp ./a.out $N");
  EXPECT_EQ(got.run, "./a.out $N");
  EXPECT_EQ(got.framework, "mpi");
  EXPECT_EQ(got.tasks_per_node, 4);
  EXPECT_THAT(got.variables, ElementsAre(std::pair("A", "1")));
  EXPECT_THAT(got.dropped, ElementsAre("line 4: mpirun's mca btl tcp"));
  EXPECT_EQ(convert("horovodrun -np 2 python t.py").framework, "horovod");
  EXPECT_THAT(convert("mpirun -np 3 ./a.out").reasons, ElementsAre(HasSubstr("do not divide")));
}

TEST(SbatchBody, TakesATorchrunOnOneNodeForItsRanks) {
  const auto got = convert("mkdir -p out\ntorchrun --nproc_per_node 4 t.py", "--nodes=1");
  EXPECT_EQ(got.run, "torchrun --nproc_per_node 4 t.py");
  EXPECT_THAT(got.setup, HasSubstr("mkdir -p out\n"));
}

TEST(SbatchBody, WithoutSrunRunsOnce) {
  EXPECT_EQ(convert("cd x\npython train.py", "--nodes=1").run, "cd x\npython train.py\n");
  EXPECT_THAT(convert("python train.py").run, HasSubstr("[ \"$RANK\" = 0 ] || exit 0"));
}

TEST(SbatchBody, SaysWhyItCannotBeConverted) {
  const auto why = [](const std::string& lines) {
    const auto got = convert(lines);
    return got.reasons.empty() ? "none" : got.reasons[0];
  };
  EXPECT_EQ(why("for i in 1 2; do\nsrun python t.py\ndone"),
            "line 4: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("srun python a.py &\nsrun python b.py &\nwait"),
            "line 3: several steps run at the same time, and a job file has one");
  EXPECT_EQ(why("srun -N 1 python a.py"), "line 3: srun uses 1 of the job's 2 nodes");
  EXPECT_EQ(why("srun python a.py && python b.py"),
            "line 3: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("srun hostname\npython t.py"),
            "line 3: the last srun only looks around, and commands follow it");
  EXPECT_EQ(why("echo \"x"), "line 3: quote \" has no end");
  EXPECT_EQ(why("srun python a.py < input"), "line 3: the ranks read a redirected input");
  EXPECT_EQ(why("# nothing"), "it has no command");
  EXPECT_EQ(convert_body(lint::read_script("#!/usr/bin/env python\nx = 1\n")).reasons[0],
            "its first line does not name a shell");
}

}  // namespace
}  // namespace dllaunch
