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
  EXPECT_EQ(found("--gpus-per-task=8", "srun torchrun train.py"), Ids{});
  EXPECT_EQ(found("--nodes=2", "srun --gpus-per-task=8 torchrun train.py"), Ids{});
  EXPECT_EQ(found("--nodes=2 --ntasks-per-node=1", "srun --gpus-per-task=8 torchrun a.py"), Ids{});
  EXPECT_EQ(found("--nodes=2 --gpus-per-task=1 --gpus=8", "srun python a.py"), Ids{"gpus-hidden"});
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
  EXPECT_EQ(judged.all.size(), 9u);
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
