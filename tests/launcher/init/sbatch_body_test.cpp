#include "launcher/init/sbatch_body.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::Contains;
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
  EXPECT_THAT(got.dropped, ElementsAre(HasSubstr("line 8: srun's --label: the ranks' output"),
                                       HasSubstr("line 8: what follows the ranks in their line "
                                                 "(> log 2>&1 || exit 1)"),
                                       "line 9: after the ranks: echo done"));
}

TEST(SbatchBody, SaysWhyALineOfOptionsIsNoCommand) {
  EXPECT_THAT(convert("srun ./a\n  --lr 1").dropped,
              ElementsAre("line 4: --lr 1: no command: a blank follows the backslash of the line "
                          "before, or that line lacks its backslash"));
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
  EXPECT_THAT(got.dropped,
              ElementsAre(HasSubstr("srun's --label"),
                          HasSubstr("srun's --container-image=$I: its value is known only when")));
  EXPECT_EQ(convert("I=a.sqsh\nO=(--container-image $I)\nsrun \"${O[@]}\" t").container.image,
            "a.sqsh");
  EXPECT_THAT(convert("A=\nif x; then A=--auto-resume=1; fi\nsrun $A python t.py").dropped,
              ElementsAre(HasSubstr("srun's $A: its options are known only when")));
  const auto maybe =
      convert("if x; then\nO=(--container-image a.sqsh)\nfi\nsrun \"${O[@]}\" python t.py");
  EXPECT_EQ(maybe.container.image, "");
  EXPECT_THAT(maybe.dropped, ElementsAre(HasSubstr("srun's \"${O[@]}\"")));
  EXPECT_EQ(convert("O=(--container-image a.sqsh)\nsrun \"${O[@]}\" python t.py").container.image,
            "a.sqsh");
  const auto known = convert("srun --container-image a.sqsh --container-mounts=/a:/b,/c x -l");
  EXPECT_EQ(known.container.image, "a.sqsh");
  EXPECT_THAT(known.container.mounts, ElementsAre("/a:/b", "/c"));
  EXPECT_EQ(known.run, "x -l");
  EXPECT_EQ(convert("srun -n 8 -N 2 x").request.tasks_per_node(), 4);
}

TEST(SbatchBody, PutsAContainerTogether) {
  const auto mounted = convert("srun --container-mounts=/x:/x ./app",
                               "-N 2 --container-image=img --container-mounts=/d:/d");
  EXPECT_EQ(mounted.container.image, "img");
  EXPECT_THAT(mounted.container.mounts, ElementsAre("/d:/d", "/x:/x"));
  const auto own = convert("srun --container-image=own --container-mounts=/d:/d ./app",
                           "-N 2 --container-image=img --container-mounts=/d:/d");
  EXPECT_EQ(own.container.image, "own");
  EXPECT_THAT(own.container.mounts, ElementsAre("/d:/d"));
  for (const auto* image : {"", "--container-image=$HOME/i.sqsh "}) {
    const auto lone =
        convert("srun " + std::string(image) + "--container-mounts=/a:/b:ro,/c ./app");
    EXPECT_THAT(lone.container.mounts, IsEmpty());
    EXPECT_THAT(lone.dropped, Contains("line 3: --container-mounts=/a:/b:ro,/c: no image is known "
                                       "for them: write environment.container"));
  }
  EXPECT_THAT(convert("srun ./app", "-N 2 --container-mounts=/d:/d").dropped,
              ElementsAre(HasSubstr("line 2: --container-mounts=/d:/d: no image")));
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
  EXPECT_THAT(got.variables, ElementsAre(std::pair("A", "1"), std::pair("OMPI_MCA_btl", "tcp")));
  EXPECT_THAT(got.dropped, ElementsAre("line 4: mpirun's --bind-to core: dllaunch places and binds "
                                       "the ranks (binding:)"));
  const auto later = convert("A=$(date)\nmpirun -np $N -x A=$A -genv B \"$A\" ./a.out");
  EXPECT_EQ(later.setup, "set +e  # as in the script\nA=$(date)\nexport A=$A\nexport B=\"$A\"\n");
  EXPECT_THAT(later.dropped, ElementsAre(HasSubstr("-np $...: it is known only when the script")));
  EXPECT_EQ(convert("horovodrun -np 2 python t.py").framework, "horovod");
  EXPECT_THAT(convert("mpirun -np 3 ./a.out").reasons, ElementsAre(HasSubstr("do not divide")));
}

TEST(SbatchBody, TheLaunchersVariablesWinOverTheScripts) {
  for (const auto* launcher : {"mpirun -x A=1", "srun --export=ALL,A=1"}) {
    const auto got = convert("export A=$(hostname)\n" + std::string(launcher) + " ./a.out");
    EXPECT_THAT(got.variables, IsEmpty());
    EXPECT_EQ(got.setup, "set +e  # as in the script\nexport A=$(hostname)\nexport A=1\n");
  }
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

TEST(SbatchBody, ExportsBecomeVariables) {
  const auto got = convert("export A=1\nsrun --export=ALL,A=2,B=\"x y\",C=3 t");
  EXPECT_THAT(got.variables,
              ElementsAre(std::pair("A", "1"), std::pair("B", "x y"), std::pair("C", "3")));
  EXPECT_EQ(got.setup, "set +e  # as in the script\nexport A=2\n")
      << "the script's own export would come later than environment.variables";
  EXPECT_THAT(got.dropped, IsEmpty());
  const auto later = convert("M=$(hostname)\nsrun --export ALL,M=$M,P=1 t");
  EXPECT_THAT(later.variables, ElementsAre(std::pair("P", "1")));
  EXPECT_EQ(later.setup, "set +e  # as in the script\nM=$(hostname)\nexport M=$M\n");
  EXPECT_THAT(convert("srun --export=\"ALL,A=$(date)\" t").dropped,
              ElementsAre(HasSubstr("export them before srun")));
  EXPECT_THAT(convert("srun --export=NONE t").dropped,
              ElementsAre(HasSubstr("srun's --export=NONE: without ALL, PATH and the script's")));
  const auto directive = convert("srun t", "--nodes=2 --export=ALL,A=1");
  EXPECT_THAT(directive.variables, ElementsAre(std::pair("A", "1")));
  const auto last = convert("export A=2\nmpirun -x A=3 ./t", "--nodes=2 --export=ALL,A=1");
  EXPECT_THAT(last.variables, ElementsAre(std::pair("A", "1"), std::pair("A", "2")));
  EXPECT_EQ(last.setup, "set +e  # as in the script\nexport A=3\n") << "the last one stays";
}

TEST(SbatchBody, ListsWordsBeforeTheLauncher) {
  const auto prefix = [](const std::string& line) {
    const auto got = convert(line);
    EXPECT_THAT(got.run, HasSubstr("./app")) << line;
    EXPECT_EQ(got.setup, "") << line;
    return got.dropped.empty() ? "none" : got.dropped[0].substr(0, got.dropped[0].find(':', 8));
  };
  EXPECT_EQ(prefix("time srun ./app"), "line 3: time before srun");
  EXPECT_EQ(prefix("time -p srun ./app | tee log"), "line 3: time -p before srun");
  EXPECT_EQ(prefix("/usr/bin/time -v srun ./app"), "line 3: /usr/bin/time -v before srun");
  EXPECT_EQ(prefix("timeout -k 5 3h srun ./app"), "line 3: timeout -k 5 3h before srun");
  EXPECT_EQ(prefix("numactl -N 0 mpirun ./app"), "line 3: numactl -N 0 before mpirun");
  EXPECT_EQ(prefix("exec srun ./app"), "line 3: exec before srun");
  EXPECT_EQ(prefix("A=1 srun ./app"), "none");
  EXPECT_EQ(convert("A=1 env B=\"2 3\" srun ./app").run, "A=1 B=\"2 3\" ./app");
  EXPECT_EQ(convert("X=2\nA=$X srun ./app").run, "eval \"$variables_of_the_script\"\nA=$X ./app");
}

TEST(SbatchBody, ListsRedirectionsAndKeepsInput) {
  const auto got = convert("srun ./app > out --flag 2> err.txt -x < in.dat 2>&1");
  EXPECT_EQ(got.run, "./app --flag -x < in.dat");
  EXPECT_THAT(got.dropped,
              ElementsAre(HasSubstr("line 3: > out:"), HasSubstr("line 3: 2> err.txt:"),
                          HasSubstr("line 3: what follows the ranks in their line (2>&1)")));
}

TEST(SbatchBody, EachRankTakesItsBranch) {
  const auto got = convert(
      "N=$1\nif [ \"$N\" = 1 ]; then\n  srun -l a $N\nelse\n  echo b\n  srun -l b\nfi\necho done");
  EXPECT_THAT(got.reasons, IsEmpty());
  EXPECT_EQ(got.run,
            "eval \"$variables_of_the_script\"\nif [ \"$N\" = 1 ]; then\n  a $N\nelse\n  echo b\n  "
            "b\nfi");
  EXPECT_THAT(got.dropped,
              ElementsAre(HasSubstr("srun's --label"), "line 10: after the ranks: echo done"));
}

TEST(SbatchBody, EarlierStepsMayStandAnywhere) {
  const auto got = convert("for i in 1 2; do\nsrun python warm.py $i\ndone\nsrun python t.py");
  EXPECT_THAT(got.reasons, IsEmpty());
  EXPECT_EQ(got.run, "python t.py");
  EXPECT_THAT(got.setup, HasSubstr("srun python warm.py $i\n"));
}

TEST(SbatchBody, WhatFollowsAnSrunThatLooksAroundRunsOnce) {
  const auto got = convert("f() { echo; }\nN=3\nsrun hostname\nf\npython t.py $N");
  EXPECT_THAT(got.reasons, IsEmpty());
  EXPECT_EQ(got.run,
            "eval \"$variables_of_the_script\"\n[ \"$RANK\" = 0 ] || exit 0  # once, on the first "
            "node\nf\npython t.py $N\n");
  EXPECT_EQ(got.setup,
            "set +e  # as in the script\nf() { echo; }\nN=3\nsrun hostname\n"
            "export variables_of_the_script=$(declare -p N; declare -f f)\n");
}

TEST(SbatchBody, SaysWhyItCannotBeConverted) {
  const auto why = [](const std::string& lines) {
    const auto got = convert(lines);
    return got.reasons.empty() ? "none" : got.reasons[0];
  };
  EXPECT_EQ(why("for i in 1 2; do\nsrun python t.py\ndone"),
            "line 4: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("srun python a.py &\nsrun python b.py &\nwait"),
            "line 3: several steps run at the same time, and a job file has one: write each as one "
            "of `components` (docs/how-to/components.md)");
  EXPECT_EQ(why("srun -N 1 python a.py"), "line 3: srun uses 1 of the job's 2 nodes");
  EXPECT_EQ(why("srun python a.py && python b.py"),
            "line 3: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("echo \"x"), "line 3: quote \" has no end");
  EXPECT_EQ(why("srun python a.py << E\nx\nE"), "line 3: the ranks read a redirected input");
  EXPECT_EQ(why("srun python a.py < $(ls)"), "line 3: the ranks read a redirected input");
  EXPECT_EQ(why("srun --multi-prog m.conf"),
            "line 3: srun --multi-prog starts several programs: write each as one of `components` "
            "(docs/how-to/components.md)");
  EXPECT_EQ(why("if [ $N = 1 ]; then srun -n2 a; else srun -n4 b; fi"),
            "line 3: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("if run; then srun a; fi"),
            "line 3: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("if [ $N = 1 ]; then srun a; else python b; fi"),
            "line 3: srun stands in a loop, a condition or a function");
  EXPECT_EQ(why("# nothing"), "it has no command");
  EXPECT_EQ(convert_body(lint::read_script("#!/usr/bin/env python\nx = 1\n")).reasons[0],
            "its first line does not name a shell");
}

}  // namespace
}  // namespace dllaunch
