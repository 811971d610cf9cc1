// The script as text (golden files, shellcheck), and run by bash with a recording srun.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "launcher/plan/plan.hpp"
#include "support/file_text.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using Words = std::vector<std::string>;

Job full_job() {
  auto job = train_job();
  job.name = "resnet, with everything";
  job.resources.nodes = 2;
  job.resources.ranks_per_node = 2;
  job.resources.time = "00:30:00";
  job.resources.account = "project_1";
  job.resources.partition = "batch";
  job.resources.sbatch_extra = {"--mail-type=END", "--comment=it's \"mine\""};
  job.environment.modules = {"PrgEnv-gnu", "rocm/6.0"};
  job.environment.activate = "/home/me/my venv";
  job.environment.variables = {{"GREETING", "hello $USER; it's `me`"}, {"LINES_", "a\nb"}};
  job.environment.setup = "mkdir -p /tmp/cache\r\nulimit -c 0\n";
  return job;
}

class RenderSbatch : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
    return root_ / name;
  }

  static std::string read(const fs::path& path) {
    const auto text = read_file_text(path);
    return text ? *text : "";
  }

  /// What NUL-separated text holds.
  static Words split(const std::string& text) {
    Words words;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
    return words;
  }

  /// Runs a script with srun and module as functions that write to root_; the supervisor only
  /// starts what it is given.
  CommandOutput run(const std::string& script, const std::string& srun_body) {
    write("script", script);
    write("dllaunch",
          "#!/bin/bash\n"
          "while [ \"$1\" != -- ]; do shift; done\nshift\n\"$@\"\n");
    fs::permissions(root_ / "dllaunch", fs::perms::owner_all);
    write("prelude",
          "export out=$1\nreadonly out\nSLURM_ARRAY_TASK_ID=4\n"
          "srun() { printf '%s\\0' \"$@\" > \"$out/argv\"; env -0 > \"$out/env\"; "
          "printf '%s' \"$PWD\" > \"$out/pwd\"; " +
              srun_body +
              "; }\n"
              "export -f srun\n"
              "module() { printf '%s\\0' \"$@\" >> \"$out/modules\"; }\n"
              ". \"$out/script\"\n");
    auto output = system_.run({"bash", root_ / "prelude", root_}, seconds(20));
    EXPECT_TRUE(output) << output.error().what;
    return output ? *output : CommandOutput{};
  }

  /// With bin/srun and bin/dllaunch.
  CommandOutput run_with_programs(std::string script) {
    for (const char* program : {"bin/srun", "bin/dllaunch"})
      fs::permissions(root_ / program, fs::perms::owner_all);
    const std::string stub = root_ / "dllaunch";
    for (auto at = script.find(stub); at != std::string::npos; at = script.find(stub, at + 1))
      script.replace(at, stub.size(), (root_ / "bin/dllaunch").string());
    write("script", script);
    const std::string path = "PATH=" + (root_ / "bin").string() + ":/usr/bin:/bin";
    return *system_.run({"env", "out=" + root_.string(), path, "bash", root_ / "script"},
                        seconds(20));
  }

  /// Empty where shellcheck has nothing to say.
  std::string shellcheck(const std::string& script, const char* severity) {
    const auto path = write("checked.sh", script);
    const auto output =
        system_.run({"shellcheck", std::string("--severity=") + severity, path}, seconds(60));
    return output ? output->out : output.error().what;
  }

  bool no_shellcheck() { return !system_.find_program("shellcheck"); }

  Paths paths_in_root() {
    fs::create_directories(root_ / "work");
    return {.dllaunch = root_ / "dllaunch",
            .dltrain = "/opt/dltrain",
            .run_dir = root_ / "run",
            .work_dir = root_ / "work"};
  }

  std::string staged_script(const std::string& setup = "") {
    auto job = run_job();
    job.stage = {"/data/images"};
    job.environment.setup = setup;
    const auto made = plan(job, small_cluster(), paths_in_root(), false);
    return made ? render_sbatch(*made) : made.error().what;
  }

  PosixSystem system_{Console{}};
  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

std::vector<std::pair<std::string, LaunchPlan>> samples() {
  auto counts = train_job();
  counts.resources.nodes = 2;
  counts.resources.ranks_per_node = 2;
  auto gpus = run_job();
  gpus.resources.nodes = 2;
  auto without_pmix = small_cluster();
  without_pmix.slurm->mpi_types = {"none", "pmi2"};
  auto array = counts;
  array.array = "0-9%2";
  array.after = {"17"};
  array.resources.sbatch_extra = {"!--requeue", "--open-mode=truncate", "-p batch"};
  array.environment.left_alone = {"CUDA_DEVICE_ORDER"};
  auto contained = gpus;
  contained.environment.container = Container{.image = "docker://rocm/pytorch"};
  auto with_pyxis = small_cluster();
  with_pyxis.slurm->pyxis = true;
  auto inside = run_job();
  inside.environment.container =
      Container{.image = "nvcr.io#nvidia/pytorch:25.01-py3", .runtime = "enroot"};
  auto staged = run_job();
  staged.stage = {"/data/images.tar"};
  return {{"2x2", planned(counts, small_cluster())},
          {"staged", planned(staged, small_cluster())},
          {"lumi", planned(gpus, lumi_like())},
          {"everything", planned(full_job(), small_cluster())},
          {"mpirun", planned(with_transport(counts, "mpi"), without_pmix)},
          {"array", planned(array, small_cluster())},
          {"container", planned(contained, lumi_like())},
          {"pyxis", planned(inside, with_pyxis)}};
}

/// Where the text of plan.json stands in a script, and its length.
std::pair<std::size_t, std::size_t> place_of_plan(const std::string& script) {
  const std::string begin = "<< 'END_OF_PLAN' || exit 3\n";
  const auto at = script.find(begin) + begin.size();
  return {at, script.find("\nEND_OF_PLAN\n", at) - at};
}

/// The plan has its own golden file; here it would only repeat every change of that.
std::string without_plan(std::string script) {
  const auto [at, length] = place_of_plan(script);
  return script.replace(at, length, "(plan.json)");
}

TEST_F(RenderSbatch, MatchesTheGoldenScripts) {
  for (const auto& [name, plan] : samples()) {
    const auto script = render_sbatch(plan);
    const auto read = without_plan(script);
    EXPECT_TRUE(matches_golden("launcher/" + name + ".sbatch", read));
    EXPECT_LT(std::count(read.begin(), read.end(), '\n'), 135) << name;
  }
}

TEST_F(RenderSbatch, ThePlanStandsInLinesThatAPersonCanPass) {
  for (const auto& [name, plan] : samples()) {
    const auto script = render_sbatch(plan);
    const auto [at, length] = place_of_plan(script);
    const auto text = script.substr(at, length);
    EXPECT_EQ(Json::parse(text), to_json(plan)) << name;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool one_text = std::ranges::count(line, '"') <= 6;  // no line ends within one
      EXPECT_TRUE(line.size() <= 120 || one_text) << name << ": " << line;
    }
  }
}

TEST_F(RenderSbatch, ShellcheckHasNothingToSay) {
  if (no_shellcheck()) GTEST_SKIP() << "shellcheck is not installed";
  for (const auto& [name, plan] : samples()) {
    if (name != "everything") {
      EXPECT_EQ(shellcheck(render_sbatch(plan, "a1"), "style"), "") << name;
    } else {
      // SC2016: what a user wrote in single quotes is meant to stay as it is.
      EXPECT_EQ(shellcheck(render_sbatch(plan), "warning"), "") << name;
    }
  }
}

TEST_F(RenderSbatch, DirectivesStandBeforeTheFirstCommand) {
  std::istringstream script(render_sbatch(planned(full_job(), small_cluster())));
  bool command = false;
  int directives = 0;
  for (std::string line; std::getline(script, line);) {
    if (line.starts_with("#SBATCH")) {
      EXPECT_FALSE(command) << line;
      ++directives;
    } else if (!line.empty() && line[0] != '#') {
      command = true;
    }
  }
  EXPECT_GE(directives, 12);
}

TEST_F(RenderSbatch, ByHandItMakesWhatTheRanksRead) {
  const auto made = plan(train_job(), small_cluster(), paths_in_root(), false);
  ASSERT_TRUE(made);
  EXPECT_EQ(run(render_sbatch(*made), "return 0").exit_code, 0);
  const auto train = Json::parse(read(root_ / "run/train.json"));
  EXPECT_EQ(train, Json::parse(made->train_json));
  EXPECT_EQ(train.at("model"), "cnn");
  EXPECT_EQ(Json::parse(read(root_ / "run/plan.json")), to_json(*made));
  EXPECT_TRUE(fs::is_directory(root_ / "run/out"));
  write("run/train.json", "mine");
  EXPECT_EQ(run(render_sbatch(*made), "return 0").exit_code, 0);
  EXPECT_EQ(read(root_ / "run/train.json"), "mine") << "what `dllaunch run` wrote stays";
}

/// Who reads it meanwhile, `after:` of another job, finds the former number or the new one.
TEST_F(RenderSbatch, TheJobsNumberIsReplacedAsAWhole) {
  const auto made = plan(run_job(), small_cluster(), paths_in_root(), false);
  ASSERT_TRUE(made);
  const auto number = write("run/job.id", "5\n");
  fs::create_hard_link(number, root_ / "former");
  EXPECT_EQ(run(render_sbatch(*made), "return 0").exit_code, 0);
  EXPECT_EQ(read(root_ / "former"), "5\n");
  EXPECT_NE(read(number), "5\n");
  EXPECT_FALSE(fs::exists(root_ / "run/.job.id"));
}

TEST_F(RenderSbatch, InAnotherRunsDirectoryItDoesNothing) {
  const auto made = plan(run_job(), small_cluster(), paths_in_root(), false);
  ASSERT_TRUE(made);
  const auto script = render_sbatch(*made, "a1");
  write("run/.run-id", "b2");
  EXPECT_EQ(run(script, "return 0").exit_code, 3);
  EXPECT_FALSE(fs::exists(root_ / "run/job.id"));
  EXPECT_FALSE(fs::exists(root_ / "argv")) << "no step was started";
  write("run/.run-id", "a1");
  EXPECT_EQ(run(script, "return 0").exit_code, 0);
  fs::remove(root_ / "run/.run-id");
  EXPECT_EQ(run(script, "return 0").exit_code, 0) << "by hand";
  EXPECT_TRUE(fs::exists(root_ / "argv"));
}

/// Judged where the run begins: elsewhere the script is as it always was.
TEST_F(RenderSbatch, WhereOthersCanReplaceTheRunItDoesNothingInADirectoryOfTheirs) {
  auto paths = paths_in_root();
  EXPECT_THAT(render_sbatch(*plan(run_job(), small_cluster(), paths, false), "a1"),
              Not(HasSubstr("stat -L")));
  paths.files = (root_ / "state/kept/0").string();
  const auto made = plan(run_job(), small_cluster(), paths, false);
  ASSERT_TRUE(made);
  const auto script = render_sbatch(*made, "a1");
  write("run/.run-id", "a1");
  EXPECT_EQ(run(script, "return 0").exit_code, 0);
  const auto words = read(root_ / "argv");
  EXPECT_THAT(words, HasSubstr(std::string("--files") + '\0' + paths.files + '\0'));
  if (!can_be_others()) GTEST_SKIP() << "the rest needs root";
  fs::remove(root_ / "argv");
  ASSERT_EQ(chown((root_ / "run").c_str(), other_user, other_user), 0);
  EXPECT_EQ(run(script, "return 0").exit_code, 3) << "another user's, who knows the id";
  EXPECT_FALSE(fs::exists(root_ / "argv"));
  ASSERT_EQ(chown((root_ / "run").c_str(), 65534, 65534), 0);
  EXPECT_EQ(run(script, "return 0").exit_code, 0) << "an owner whom the node cannot name";
  ASSERT_EQ(chown((root_ / "run").c_str(), other_user, other_user), 0);
  EXPECT_EQ(run(render_sbatch(*made), "return 0").exit_code, 0) << "no id: it was theirs before";
}

TEST_F(RenderSbatch, EndsWithTheExitCodeOfTheSupervisor) {
  const auto made = plan(run_job(), small_cluster(), paths_in_root(), false);
  ASSERT_TRUE(made);
  for (const int code : {0, 1, 93, 137})
    EXPECT_EQ(run(render_sbatch(*made), "return " + std::to_string(code)).exit_code, code);
}

TEST_F(RenderSbatch, ANodeWithoutDllaunchIsToldAtOnce) {
  auto paths = paths_in_root();
  paths.dllaunch = root_ / "no where/dllaunch";
  const auto made = plan(run_job(), small_cluster(), paths, false);
  ASSERT_TRUE(made);
  const auto output = run(render_sbatch(*made), "return 0");
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, testing::HasSubstr("not on "));
  EXPECT_THAT(output.err, testing::HasSubstr(paths.dllaunch));
}

/// Slurm signals the process that bash was.
TEST_F(RenderSbatch, TheSupervisorTakesTheScriptsPlace) {
  auto job = run_job();
  job.environment.setup = "echo $$; kill -s USR2 $$";
  const auto made = plan(job, small_cluster(), paths_in_root(), false);
  ASSERT_TRUE(made);
  const auto output = run(render_sbatch(*made), "echo $$");
  EXPECT_EQ(output.exit_code, 0) << "the signal came too early";
  const auto end = output.out.find('\n');
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(output.out.substr(0, end + 1), output.out.substr(end + 1));
}

/// bash closes a coprocess's descriptors at exec, and a background process of setup's would hold
/// what it may: the copies are there as long as the supervisor, and no longer.
TEST_F(RenderSbatch, StagedCopiesAreKeptForTheSupervisor) {
  write("bin/srun", "#!/bin/bash\necho; cat > /dev/null\ntouch \"$out/gone\"\n");
  write("bin/dllaunch",
        "#!/bin/bash\n"
        "if [ \"$1\" = stage ]; then [ \"$2\" != --folder ] || echo /tmp/staged; exit; fi\n"
        "while [ \"$1\" != --keeper ]; do shift; done\n"
        "sleep 0.3\n"
        "[ ! -e \"$out/gone\" ] && echo kept\n"
        "kill -0 \"${2#*:}\" && echo alive\n"
        "eval \"exec ${2%:*}>&-\"\n"
        "for i in $(seq 50); do sleep 0.1; [ ! -e \"$out/gone\" ] || break; done\n"
        "[ -e \"$out/gone\" ] && echo gone\n");
  const auto output = run_with_programs(staged_script("exec 9> lock\nsleep 6 &\n"));
  EXPECT_EQ(output.out, "kept\nalive\ngone\n") << output.err;
}

/// srun would report a keeper that Slurm ends as a killed task, which reads like a killed rank.
TEST_F(RenderSbatch, TheKeeperEndsBeforeAJobThatCannotStage) {
  write("bin/srun", "#!/bin/bash\necho; cat > /dev/null\nsleep 0.3\ntouch \"$out/gone\"\n");
  write("bin/dllaunch", "#!/bin/bash\n[ \"$2\" = --folder ] && echo /tmp/staged\n");
  const auto output = run_with_programs(staged_script());
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_EQ(output.err, "");
  EXPECT_TRUE(fs::exists(root_ / "gone"));
}

/// A job that is cancelled at its start would leave what no keeper removes.
TEST_F(RenderSbatch, NothingIsStagedWhereNoKeeperIs) {
  write("bin/srun", "#!/bin/bash\n");
  write("bin/dllaunch",
        "#!/bin/bash\n[ \"$2\" = --folder ] && echo /tmp/staged || touch \"$out/copied\"\n");
  const auto output = run_with_programs(staged_script());
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_EQ(output.err, "stage: no keeper on 1 of 1 nodes: nothing is copied\n");
  EXPECT_FALSE(fs::exists(root_ / "copied"));
}

TEST_F(RenderSbatch, AFailingSetupLineEndsTheJob) {
  auto job = run_job();
  job.environment.setup = "true\nfalse\ntouch never";
  const auto made = plan(job, small_cluster(), paths_in_root(), false);
  ASSERT_TRUE(made);
  EXPECT_EQ(run(render_sbatch(*made), "return 0").exit_code, 1);
  EXPECT_FALSE(fs::exists(root_ / "work/never"));
  EXPECT_FALSE(fs::exists(root_ / "argv")) << "no step was started";
}

/// Text that bash, sbatch and templates stumble over.
class Hostile {
 public:
  explicit Hostile(unsigned seed) : random_(seed) {}

  std::string text(std::string_view without = "") {
    static const Words pieces = {"$(touch pwned)",
                                 "`touch pwned`",
                                 ";touch pwned;",
                                 "|touch pwned",
                                 "&touch pwned&",
                                 "\ntouch pwned\n",
                                 "'",
                                 "\"",
                                 "\\",
                                 "$HOME",
                                 "${IFS}",
                                 "#",
                                 "!",
                                 "*",
                                 "?",
                                 "~",
                                 "[a]",
                                 "{a,b}",
                                 "%j",
                                 " ",
                                 "\t",
                                 "\r\n",
                                 "\x01",
                                 "\x7f",
                                 "é",
                                 "=",
                                 "-",
                                 "--",
                                 "\\n",
                                 "a",
                                 "Z0",
                                 "END_OF_PLAN",
                                 "\nEND_OF_PLAN\n",
                                 "{{name}}",
                                 "{{{start}}}",
                                 "{{/setup}}",
                                 "%%",
                                 "\\\"",
                                 "'\\''",
                                 "$'x'",
                                 ">out",
                                 "<in",
                                 "(",
                                 ")",
                                 "&&",
                                 "||",
                                 "\n#SBATCH --uid=0\n"};
    std::string text;
    for (auto length = random_() % 8; length > 0; --length)
      text += pieces[random_() % pieces.size()];
    std::erase_if(text, [without](char c) { return without.find(c) != std::string_view::npos; });
    return text;
  }
  /// What an #SBATCH line can hold.
  std::string line() { return text(controls); }
  /// A folder's name.
  std::string name(const std::string& without = "") {
    return "d" + text(controls + ("/\\" + without));
  }

 private:
  static constexpr const char* controls = "\n\r\t\x01\x7f";
  std::mt19937 random_;
};

Job hostile_job(Hostile& hostile, const fs::path& prefix) {
  auto job = run_job();
  job.name = hostile.line();
  job.resources.account = hostile.line();
  job.resources.qos = hostile.line();
  job.resources.reservation = hostile.line();
  job.resources.exclude = "/" + hostile.line();
  job.resources.sbatch_extra = {"--comment=" + hostile.line()};
  job.resources.srun_extra = {"--" + hostile.text(), hostile.text()};
  job.run_command = {hostile.text(), hostile.text(), hostile.text(), ""};
  job.environment.modules = {hostile.text(), hostile.text()};
  job.environment.activate = prefix.string();
  job.environment.variables = {{"V0", hostile.text()}, {"V1", hostile.text()}, {"step", "kept"}};
  return job;
}

/// What srun is to be started with: task 4 knows its number.
Words expected_words(const LaunchPlan& plan) {
  Words words = plan.start.argv();
  words.erase(words.begin());
  const std::string pattern = plan.array ? task_dir(plan) : "";
  const auto end = std::find(words.begin(), words.end(), "exec") + 3;
  for (auto word = words.begin(); !pattern.empty() && word != end; ++word)
    if (*word == pattern) *word = plan.paths.run_dir + "/task-4";
  return words;
}

TEST_F(RenderSbatch, ExecutesAndLosesNothingOfHostileText) {
  const int rounds = rounds_here(150);
  const bool check = !no_shellcheck();
  Hostile hostile(7);
  for (int round = 0; round < rounds; ++round) {
    const auto prefix = root_ / hostile.name();
    fs::create_directories(prefix / "bin");
    std::ofstream(prefix / "bin/activate") << "export ACTIVATED=yes\n";
    auto paths = paths_in_root();
    const bool contained = round % 3 == 1;
    paths.work_dir = root_ / hostile.name(contained ? ",:" : "");
    paths.run_dir = root_ / hostile.name(contained ? ",:" : "");
    fs::create_directories(paths.work_dir);
    auto job = hostile_job(hostile, prefix);
    if (contained)
      job.environment.container =
          Container{.image = "i" + hostile.text(), .runtime = "singularity", .mounts = {"/a b"}};
    if (round % 3 == 2) job.array = "0-9%2";
    const auto made = plan(job, small_cluster(), paths, false);
    ASSERT_TRUE(made) << made.error().what;
    const auto script = render_sbatch(*made);
    fs::remove(root_ / "modules");

    const auto output = run(script, "return 5");
    ASSERT_EQ(output.exit_code, 5) << output.err << script;
    EXPECT_EQ(output.err, "") << script;
    ASSERT_EQ(split(read(root_ / "argv")), expected_words(*made)) << script;
    EXPECT_EQ(read(root_ / "pwd"), paths.work_dir);
    const auto environment = split(read(root_ / "env"));
    for (const auto& [name, value] : job.environment.variables)
      EXPECT_THAT(environment, testing::Contains(name + "=" + value)) << script;
    EXPECT_THAT(environment, testing::Contains("ACTIVATED=yes"));
    const auto& modules = job.environment.modules;
    EXPECT_EQ(split(read(root_ / "modules")),
              (Words{"purge", "load", modules[0], "load", modules[1]}));
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      ASSERT_NE(entry.path().filename(), "pwned") << script;
    if (check && round % 15 == 0) {
      EXPECT_EQ(shellcheck(script, "error"), "") << script;
    }
  }
}

/// sbatch -vvv prints what it reads from a script; a wrong directive after ours makes it stop
/// there.
TEST_F(RenderSbatch, SbatchReadsBackExactlyTheDirectives) {
  if (!system_.find_program("sbatch")) GTEST_SKIP() << "sbatch is not installed";
  const auto config = write("slurm.conf",
                            "ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\n"
                            "PartitionName=p Nodes=n1\n");
  Hostile hostile(8);
  for (int round = 0; round < 60; ++round) {
    auto paths = paths_in_root();
    paths.run_dir = root_ / hostile.name();
    const auto made = plan(hostile_job(hostile, root_), small_cluster(), paths, false);
    ASSERT_TRUE(made) << made.error().what;
    auto script = render_sbatch(*made);
    script.insert(script.find("\n\n# Written by"), "\n#SBATCH zzz");
    const auto path = write("script", script);
    const auto output =
        system_.run({"env", "SLURM_CONF=" + config.string(), "sbatch", "-vvv", path}, seconds(20));
    ASSERT_TRUE(output) << output.error().what;
    std::size_t at = 0;
    auto expected = made->sbatch_extra;
    for (auto pair = made->sbatch.rbegin(); pair != made->sbatch.rend(); ++pair)
      expected.insert(expected.begin(),
                      pair->second.empty() ? pair->first : pair->first + "=" + pair->second);
    for (const auto& argument : expected) {
      const auto found = output->err.find("argument \"" + argument + "\"\n", at);
      ASSERT_NE(found, std::string::npos) << argument << "\n" << output->err << script;
      at = found + 1;
    }
  }
}

TEST_F(RenderSbatch, ACopyOnSpareNodesOutlivesAnother) {
  auto job = run_job();
  job.resources.nodes = 2;
  job.stage = {"/data/images.tar"};
  job.recovery.spare_nodes = 1;
  job.recovery.written = true;
  const auto script = render_sbatch(planned(job, lumi_like()));
  EXPECT_THAT(script, testing::HasSubstr("#SBATCH --nodes=3\n#SBATCH --no-kill\n"));
  EXPECT_THAT(script,
              testing::HasSubstr("exec srun --no-kill --overlap --mpi=none --nodes=3 --ntasks=3 "));
  EXPECT_THAT(script, testing::HasSubstr("--nodes=2 \\\n"));
}

}  // namespace
}  // namespace dllaunch
