// What public job scripts taught the rules: small scripts with the same habits, and the scripts
// themselves where ../shared has them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "launcher/lint/lint.hpp"

namespace dllaunch::lint {
namespace {

namespace fs = std::filesystem;
const fs::path root = DLLAUNCH_SOURCE_DIR;

using Ids = std::set<std::string>;

Ids found_in(const std::string& text) {
  // The scripts stand in a folder that has no other, on a machine that has /tmp.
  Surroundings around;
  around.is_folder = [](const std::string& path) { return path == "." || path == "/tmp"; };
  Ids ids;
  for (const Finding& finding : lint(text, around)) ids.insert(finding.id);
  return ids;
}

/// Of a script with these directives and commands, each in a line.
Ids found(const std::string& options, const std::string& commands) {
  return found_in("#!/bin/bash\n#SBATCH --time=10 " + options + "\n" + commands + "\n");
}

const std::string four_gpus = "--nodes=2 --ntasks-per-node=1 --gpus-per-node=4";

TEST(LintPublicScripts, ACommentMayShowHowToSubmit) {
  const auto comment = [](const std::string& line) { return found(line, "hostname"); };
  EXPECT_EQ(comment("\n#   sbatch --account=me job.sh"), Ids{});
  EXPECT_EQ(comment("\n# sbatch -N 4 -p gpu job.sh  # all of it"), Ids{});
  EXPECT_EQ(comment("\n#sbatch --array=0-9 job.sh --lr 3"), Ids{});
  EXPECT_EQ(comment("\n# sbatch --account=me \\\n#   --nodes=2 job.sh"), Ids{});
  EXPECT_EQ(comment("\n# sbatch --nodes=2 # two"), Ids{"directive-mistyped"});
  EXPECT_EQ(comment("\n#sbatch -N 4"), Ids{"directive-mistyped"});
  EXPECT_EQ(comment("\n# SBATCH --nodes=2"), Ids{"directive-mistyped"});
  EXPECT_EQ(comment("\n#SBACTH --nodes=2"), Ids{"directive-mistyped"});
}

TEST(LintPublicScripts, ALauncherMayStandInAVariable) {
  const auto run = [](const std::string& commands) { return found(four_gpus, commands); };
  const std::string launcher = "L=\"python -u -m torch.distributed.run --nproc_per_node 4\"\n";
  EXPECT_EQ(run(launcher + "export L\nsrun bash -c '$L train.py'"), Ids{});
  EXPECT_EQ(run(launcher + "srun bash -c \"$L train.py\""), Ids{});
  EXPECT_EQ(run(launcher + "srun --jobid $SLURM_JOBID bash -c \"$L train.py\" | tee log"), Ids{});
  EXPECT_EQ(run("srun bash -c '$LAUNCHER train.py'"), Ids{}) << "from the environment";
  EXPECT_EQ(run("srun $LAUNCHER train.py"), Ids{});
  EXPECT_EQ(run("srun bash start.sh"), Ids{}) << "a file that is not here";
  EXPECT_EQ(run("srun singularity exec a.sif $LAUNCHER train.py"), Ids{});
  EXPECT_EQ(run("srun bash -c 'python train.py'"), Ids{"gpus-idle"});
  EXPECT_EQ(run("P=python\nsrun bash -c \"$P train.py\""), Ids{"gpus-idle"});
  EXPECT_EQ(run("srun --jobid $SLURM_JOB_ID python train.py $ARGS"), Ids{"gpus-idle"});
}

TEST(LintPublicScripts, AProbeIsNoTraining) {
  const auto run = [](const std::string& commands) {
    return found(four_gpus + " --cpus-per-task=8", commands);
  };
  EXPECT_EQ(run("srun python -c 'import torch'"), Ids{});
  EXPECT_EQ(run("srun bash -c 'hostname; nvidia-smi'"), Ids{});
  EXPECT_EQ(run("srun bash -c 'python -c \"import torch\"'"), Ids{});
  EXPECT_EQ(run("srun bash -c 'hostname; python train.py'"),
            (Ids{"cpus-per-task-lost", "gpus-idle"}));
}

TEST(LintPublicScripts, OneTaskHidesNoGpuFromAnother) {
  EXPECT_EQ(found("--nodes=2 --gpus-per-task=8", "srun torchrun train.py"), Ids{});
  EXPECT_EQ(found("--ntasks=1 --gpus-per-task=8", "srun torchrun train.py"), Ids{});
  EXPECT_EQ(found("--nodes=2", "srun --gpus-per-task=8 torchrun train.py"), Ids{});
  EXPECT_EQ(found("--nodes=2 --ntasks-per-node=1", "srun --gpus-per-task=8 torchrun a.py"), Ids{});
  EXPECT_EQ(found("--nodes=2 --ntasks=8 --gpus-per-task=1 --gpus=8", "srun python a.py"),
            Ids{"gpus-hidden"});
  EXPECT_EQ(found("--nodes=2", "srun -n $N --gpus-per-task=1 python a.py"), Ids{"gpus-hidden"});
  EXPECT_EQ(found("--gpu-bind=closest", "srun -n 8 python a.py"), Ids{"gpus-hidden"});
}

TEST(LintPublicScripts, AnUnknownWordHidesOnlyWhatItMayBe) {
  const auto run = [](const std::string& commands) {
    return found("--nodes=2 --ntasks-per-node=4 --cpus-per-task=8", commands);
  };
  const Ids lost{"cpus-per-task-lost"};
  EXPECT_EQ(run("srun --jobid $SLURM_JOBID bash -c 'python a.py' 2>&1 | tee log"), lost);
  EXPECT_EQ(run("clear; srun -w $NODE -N 1 python a.py"), lost);
  EXPECT_EQ(run("srun python train.py $ARGS"), lost);
  EXPECT_EQ(run("srun --jobid=$SLURM_JOBID python a.py"), lost);
  EXPECT_EQ(run("srun $SRUN_ARGS python a.py"), Ids{}) << "may be --cpus-per-task=8";
  EXPECT_EQ(run("srun \"${ARGS[@]}\" python a.py"), Ids{});
  EXPECT_EQ(run("srun --jobid $SLURM_JOBID -c 8 python a.py"), Ids{});
  EXPECT_EQ(run("srun --jobid $SLURM_JOBID -c $SLURM_CPUS_PER_TASK python a.py"), Ids{});
}

TEST(LintPublicScripts, AnUnreadVariableDoesNothing) {
  const auto run = [](const std::string& commands) { return found("--nodes=2", commands); };
  EXPECT_EQ(run("MASTER_PORT=29500\nsrun torchrun a.py"), Ids{});
  EXPECT_EQ(run("MASTER_ADDR=localhost\nsrun torchrun a.py"), Ids{});
  EXPECT_EQ(run("export MASTER_PORT=29500\nsrun torchrun a.py"), Ids{"master-port"});
  EXPECT_EQ(run("MASTER_PORT=29500\nexport MASTER_PORT\nsrun python a.py"), Ids{"master-port"});
  EXPECT_EQ(run("MASTER_PORT=29500 srun python a.py"), Ids{"master-port"});
  EXPECT_EQ(run("MASTER_PORT=29500\nsource more.sh\nsrun python a.py"), Ids{"master-port"});
  EXPECT_EQ(run("MASTER_PORT=29500\nsrun torchrun --master_port $MASTER_PORT a.py"),
            Ids{"master-port"});
}

TEST(LintPublicScripts, OptionsAreReadInEverySpelling) {
  const std::string run = "srun python3 train.py";
  EXPECT_EQ(found("--nodes=2 --tasks-per-node=4 --gpus-per-node=4", run), Ids{});
  EXPECT_EQ(found("--part=gpu --nodes=2 --ntasks-per-n=4 --gpus-per-n=4", run), Ids{});
  EXPECT_EQ(found("--acc=vision", run), Ids{"directive-ambiguous"}) << "or --acctg-freq";
  EXPECT_EQ(found("--nodes=2 --tasks-per-node=8 --gpus-per-node=4", run), Ids{"tasks-gpus"});
}

TEST(LintPublicScripts, GpusWithAndWithoutATypeContradictInEveryOption) {
  const std::string run = "srun python3 train.py";
  EXPECT_EQ(found("--nodes=1 --ntasks=6 --gres=gpu:4,gpu:a100:2", run), Ids{"request-contradicts"});
  EXPECT_EQ(found("--nodes=1 --ntasks=6 --gpus-per-node=4,a100:2", run),
            Ids{"request-contradicts"});
}

TEST(LintPublicScripts, RanksThatCannotSeeTheOthersGpusAreNamedHoweverItIsWritten) {
  const auto run = [](const std::string& options, const std::string& commands) {
    return found("--nodes=2 " + options, commands);
  };
  const std::string four = "--ntasks-per-node=4 --gres=gpu:4";
  const Ids hidden{"gpus-hidden"};
  EXPECT_EQ(run(four, "srun --accel-bind=gn python3 t.py"), hidden);
  EXPECT_EQ(run(four, "srun --accel-bind=n python3 t.py"), Ids{}) << "network cards only";
  EXPECT_EQ(run(four, "srun --tres-bind=gres/gpu:closest python3 t.py"), hidden);
  EXPECT_EQ(run(four, "srun --tres-bind=gres/gpu:none python3 t.py"), Ids{});
  EXPECT_EQ(run(four, "export SLURM_GPU_BIND=closest\nsrun python3 t.py"), hidden);
  EXPECT_EQ(run(four, "export SLURM_GPU_BIND=none\nsrun python3 t.py"), Ids{});
  EXPECT_EQ(run(four, "A=(--gpu-bind=single:1)\nsrun \"${A[@]}\" python3 t.py"), hidden);
  EXPECT_EQ(run(four, "srun --gpu-bind=mask_gpu:0xf,0xf,0x0f,0xf python3 t.py"), Ids{});
  EXPECT_EQ(run(four, "srun --gpu-bind=verbose,mask_gpu:0xf*4 python3 t.py"), Ids{});
  EXPECT_EQ(run(four, "srun --gpu-bind=mask_gpu:0x3,0x3,0xc,0xc python3 t.py"), hidden);
  EXPECT_EQ(run(four, "srun --gpu-bind=mask_gpu:0x1 python3 t.py"), hidden);
  EXPECT_EQ(run("--ntasks-per-gpu=1 --gpus-per-node=4", "srun python3 t.py"), hidden);
  EXPECT_EQ(
      run("--exclusive --ntasks-per-gpu=1 --gpus-per-node=4 --gpu-bind=none", "srun python3 t.py"),
      Ids{});
  EXPECT_EQ(found("--nodes=1 --ntasks=2 --tres-per-task=cpu:4,gres/gpu:a100:1", "srun ./a"),
            hidden);
  EXPECT_EQ(found("--nodes=1 --ntasks=2 --tres-per-task=cpu:4", "srun ./a"), Ids{});
  EXPECT_EQ(run(four, "srun bash -c 'export CUDA_VISIBLE_DEVICES=$((3-SLURM_LOCALID)); ./a'"),
            Ids{"visible-per-rank"});
}

TEST(LintPublicScripts, TheAccountOfTheStepIsJudged) {
  EXPECT_EQ(found("--nodes=2", "srun -N2 -n16 -c7 --gpus-per-task=1 --gpu-bind=closest ./a"),
            Ids{"gpus-hidden"});
  EXPECT_EQ(found("--nodes=2 --gpus-per-node=4", "mpirun -np 16 python3 t.py"), Ids{"tasks-gpus"});
  EXPECT_EQ(found("--nodes=2 --gpus-per-node=4", "mpirun -np 8 python3 t.py"), Ids{});
  EXPECT_EQ(found("--nodes=2 --ntasks-per-node=8 --gpus-per-node=4 --exclusive --gpu-bind=none",
                  "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nsrun python3 prog.py"),
            Ids{"tasks-gpus"});
}

TEST(LintPublicScripts, TheFixOfMpirunIsAnOptionOfMpirun) {
  const auto findings = lint(
      "#!/bin/bash\n#SBATCH --time=10 --nodes=2 --gpus-per-node=4\nmpirun -np 16 python3 t.py\n",
      {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "write -np 8 or --gpus-per-node=8");
}

TEST(LintPublicScripts, RanksThatShareGpusOnPurposeGetAWarning) {
  const std::string head = "#!/bin/bash\n#SBATCH --time=10 --ntasks-per-node=8 --gpus-per-node=4\n";
  const auto severity = [](const std::string& text) {
    for (const Finding& finding : lint(text, {}))
      if (finding.id == "tasks-gpus") return finding.severity;
    ADD_FAILURE() << text;
    return Severity::error;
  };
  EXPECT_EQ(severity(head + "srun python3 t.py\n"), Severity::error);
  EXPECT_EQ(severity(head + "srun --gpu-bind=none python3 t.py\n"), Severity::warning);
  EXPECT_EQ(severity(head + "export XLA_PYTHON_CLIENT_MEM_FRACTION=.4\nsrun python3 t.py\n"),
            Severity::warning);
}

TEST(LintPublicScripts, AnUnknownOptionIsNamedByWhatItMeans) {
  for (const auto& [typed, meant] : {std::pair("--cores-per-task=72", "write --cpus-per-task"),
                                     std::pair("--ncpus=8", "write --cpus-per-task"),
                                     std::pair("--ppn=8", "write --ntasks-per-node"),
                                     std::pair("--mem-per-task=8G", "write --mem-per-cpu"),
                                     {"--workdir=/scratch", "write --chdir"},
                                     {"--queue=gpu", "write --partition"},
                                     {"--walltime=1:00:00", "write --time"}}) {
    const auto text =
        "#!/bin/bash\n#SBATCH --time=10 --nodes=1 " + std::string(typed) + "\nsrun ./a\n";
    std::string fix;
    for (const Finding& finding : lint(text, {}))
      if (finding.id == "directive-unknown") fix = finding.fix;
    EXPECT_EQ(fix, meant) << typed;
  }
}

TEST(LintPublicScripts, OptionsThatSlurmRefusesTogetherAreNamed) {
  const Ids exclusive{"options-exclusive"};
  const auto run = [](const std::string& options) { return found("--nodes=1 " + options, "./a"); };
  EXPECT_EQ(run("--mem=8G --mem-per-cpu=3968M"), exclusive);
  EXPECT_EQ(run("--core-spec=1 --thread-spec=2"), exclusive);
  EXPECT_EQ(run("--exclusive --oversubscribe"), exclusive);
  EXPECT_EQ(run("--exclusive=user --oversubscribe"), Ids{});
  EXPECT_EQ(run("--gpus-per-node=4 --gres=gpu:4"), exclusive);
  EXPECT_EQ(run("--gpus-per-node=4 --gres=nvme:1"), Ids{});
  EXPECT_EQ(run("--gpus-per-node=4 --cpus-per-gpu=4 --cpus-per-task=4"), exclusive);
  for (const char* other : {"--ntasks-per-node=4", "--gpus-per-task=1",
                            "--gpus-per-socket=2 --sockets-per-node=2", "--tres-per-task=cpu:2"})
    EXPECT_TRUE(
        run("--gpus=4 --ntasks-per-gpu=1 " + std::string(other)).contains("options-exclusive"))
        << other;
  EXPECT_EQ(run("--gpus=2 --gpus-per-node=1"), Ids{"request-contradicts"});
}

std::string read_bytes(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Judgement {
  std::map<std::string, Ids> found = {};  // by file
  std::map<std::string, int> all = {};    // by rule: how many scripts have the fault
  std::map<std::string, int> missed = {};
};

Judgement judgement() {
  Judgement judged;
  std::ifstream lines(root / "tests/fixtures/lint/public_scripts.txt");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string file;
    std::string rule;
    std::string missed;
    words >> file >> rule >> missed;
    ++judged.all[rule];
    if (missed.empty()) judged.found[file.substr(0, file.size() - 1)].insert(rule);
    if (!missed.empty()) ++judged.missed[rule];
  }
  return judged;
}

TEST(LintPublicScripts, RecallIsWhatTheDocumentSays) {
  const std::string page = read_bytes(root / "docs/how-to/lint.md");
  const Judgement judged = judgement();
  EXPECT_EQ(judged.all.size(), 10u);
  for (const auto& [rule, all] : judged.all) {
    const int missed = judged.missed.contains(rule) ? judged.missed.at(rule) : 0;
    const std::string row =
        "| `" + rule + "` | " + std::to_string(all - missed) + " of " + std::to_string(all) + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

TEST(LintPublicScripts, GetTheFindingsThatTheyDeserveAndNoOther) {
  const fs::path folder = root / "../shared/data/sbatch";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no ../shared/data/sbatch beside this checkout";
  Judgement judged = judgement();
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() == ".tsv") continue;
    ++count;
    EXPECT_EQ(found_in(read_bytes(entry.path())), judged.found[name]) << name;
  }
  EXPECT_EQ(count, 79);
}

}  // namespace
}  // namespace dllaunch::lint
