// The installed sbatch as the judge of how its options are read: without a controller it parses and
// checks them, says with -v what it took, and fails only then.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "launcher/lint/script.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/slurm/slurm_options.hpp"
#include "launcher/slurm/slurm_request.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Verdict {
  bool accepted = false;
  bool contradicts = false;  // refused for numbers that do not fit each other
  std::map<std::string, std::string> options = {};  // as sbatch understood them
  std::string said = {};
};

class Judge {
 public:
  Judge() {
    std::ofstream(folder_.path() + "/slurm.conf")
        << "ClusterName=none\nSlurmctldHost=localhost\nGresTypes=gpu,nvme\n"
           "SelectType=select/"
           "cons_tres\nAllowSpecResourcesUsage=YES\nMessageTimeout=1\nNodeName=n[1-64] CPUs=64 "
           "Gres=gpu:8\n"
           "PartitionName=p Nodes=ALL Default=YES\n";
    std::ofstream(folder_.path() + "/job.sh") << "#!/bin/bash\ntrue\n";
  }

  /// 2205 for "slurm-wlm 22.05.8"; 0: no sbatch is installed.
  int version() {
    if (!system_.find_program("sbatch")) return 0;
    const auto output = run({"sbatch", "--version"});
    const auto at = output.find_first_of("0123456789");
    if (at == std::string::npos || output.size() < at + 5) return 0;
    return std::stoi(output.substr(at, 2) + output.substr(at + 3, 2));
  }

  Verdict judge(const std::string& program, const Words& options, const std::string& script) {
    Words argv = {program, "-v"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.push_back(script.empty() ? folder_.path() + "/job.sh" : script);
    Verdict verdict{.said = run(argv)};
    std::istringstream lines(verdict.said);
    bool refused = false;
    bool parsed = false;
    for (std::string line; std::getline(lines, line);) {
      parsed = parsed || line.find("end of defined options") != std::string::npos;
      refused =
          refused ||
          ((line.find("error:") != std::string::npos || line.find("fatal:") != std::string::npos) &&
           line.find("controller") == std::string::npos);
      const auto colon = line.find(" : ");
      const auto begin = program.size() + 2;
      if (!line.starts_with(program + ": ") || colon == std::string::npos) continue;
      const auto name = line.substr(begin, line.find(' ', begin) - begin);
      verdict.options[name] = line.substr(colon + 3);
    }
    verdict.accepted = parsed && !refused;
    return verdict;
  }

 private:
  std::string run(const Words& argv) {
    Words all = {"env", "-i", "PATH=/usr/bin:/bin", "SLURM_CONF=" + folder_.path() + "/slurm.conf"};
    all.insert(all.end(), argv.begin(), argv.end());
    const auto output = system_.run(all, std::chrono::seconds(60));
    return output ? output->out + output->err : output.error().what;
  }

  TemporaryFolder folder_;
  PosixSystem system_{Console{}};
};

/// Our reading of the same words, for one version.
struct Reading {
  std::vector<OptionGiven> options = {};
  std::string refusal = {};
  bool contradicts = false;
};

Reading read(const std::vector<std::string_view>& words, SlurmProgram program, int version) {
  Reading reading;
  const auto parsed = read_slurm_options(words, program, version);
  if (!parsed.problems.empty()) reading.refusal = "problem: " + parsed.problems[0].option;
  for (const auto& option : parsed.options) {
    const auto* known = find_slurm_option(option.name, program);
    const auto value = value_of(option, words);
    reading.options.push_back({known->name, value, option.has_value});
    // The text of GPUs is read at the end: that of an option which another replaces never is.
    const bool replaced = known->value == OptionValue::gpus &&
                          std::ranges::any_of(parsed.options, [&option](const ReadOption& other) {
                            return other.name == option.name && other.word > option.word;
                          });
    if (option.has_value && !replaced && !fault_of_value(option.name, value).empty())
      reading.refusal = option.name + " " + fault_of_value(option.name, value);
  }
  const auto last = [&reading](std::string_view name) -> const OptionGiven* {
    const OptionGiven* found = nullptr;
    for (const auto& option : reading.options)
      if (option.name == name) found = &option;
    return found;
  };
  for (const auto& pair : exclusive_options()) {
    const auto* one = last(pair.one);
    const auto* other = last(pair.other);
    if (one != nullptr && other != nullptr && pair.since <= version &&
        excludes(pair, one->value, other->value))
      reading.refusal = std::string(pair.one) + " with " + std::string(pair.other);
  }
  const auto contradiction = contradiction_in(job_request(reading.options));
  reading.contradicts = !contradiction.empty();
  if (reading.refusal.empty()) reading.refusal = contradiction;
  return reading;
}

/// A value in the form in which two spellings of it are equal.
std::string plain(OptionValue form, std::string value) {
  if (value.ends_with('?')) value.pop_back();  // of --mem=0
  if (form == OptionValue::time)
    return std::to_string(parse_slurm_minutes(value).value_or(-1)) + " minutes";
  if (form == OptionValue::memory) return std::to_string(megabytes(value)) + " MB";
  if (value.starts_with("gres:")) value = value.substr(5);
  return value;
}

/// In which numbers the judge took the options otherwise; empty: in none.
std::string difference(const Reading& reading, const Verdict& verdict, SlurmProgram program) {
  std::string said;
  for (const auto& option : reading.options) {
    const auto* known = find_slurm_option(option.name, program);
    const bool counted = known->value != OptionValue::text && known->value != OptionValue::signal &&
                         known->value != OptionValue::open_mode;
    if (!counted && option.name != "gres") continue;
    const auto same =
        std::find_if(reading.options.rbegin(), reading.options.rend(),
                     [&option](const OptionGiven& other) { return other.name == option.name; });
    const auto took = verdict.options.find(std::string(option.name));
    const auto request = job_request(reading.options);
    // srun drops tasks a node that do not fit the tasks and nodes, and starts all tasks.
    if (program == SlurmProgram::srun && option.name == "ntasks-per-node" && request.ntasks > 0) {
      const long each = request.tasks_per_node();
      const bool dropped = took == verdict.options.end();
      if (dropped && each > 0 && request.nodes > 0 && each * request.nodes < request.ntasks)
        said += "ntasks-per-node: " + std::to_string(each) + " a node, and srun starts " +
                std::to_string(request.ntasks) + "; ";
      continue;
    }
    const auto most = request.node_range ? "-" + std::to_string(request.most_nodes) : "";
    const auto ours = option.name == "nodes" ? std::to_string(request.least_nodes) + most
                                             : plain(known->value, std::string(same->value));
    const auto theirs =
        took == verdict.options.end() ? "nothing" : plain(known->value, took->second);
    if (ours != theirs)
      said += std::string(option.name) + ": " + ours + ", and sbatch " + theirs + "; ";
  }
  return said;
}

TEST(SlurmJudge, TakesFromScriptsWhatWeRead) {
  Judge judge;
  const int version = judge.version();
  if (version == 0) GTEST_SKIP() << "unavailable: no sbatch";
  int compared = 0;
  for (const char* folder : {"/../shared/data/sbatch", "/../shared/data/bugs/scripts"}) {
    const fs::path path = std::string(DLLAUNCH_SOURCE_DIR) + folder;
    if (!fs::is_directory(path)) GTEST_SKIP() << "no " << folder << " beside this checkout";
    for (const auto& entry : fs::directory_iterator(path)) {
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      const std::string script = text.str();
      if (!script.starts_with("#!")) continue;
      const auto directives = lint::read_directives(script);
      if (directives.het_job > 0) continue;
      std::vector<std::string_view> words;
      for (const auto& word : directives.words) words.emplace_back(word.bytes());
      auto reading = read(words, SlurmProgram::sbatch, version);
      if (!directives.faults.empty() || !directives.parsed.others.empty())
        reading.refusal = "no directive";
      const auto verdict = judge.judge("sbatch", {}, entry.path());
      EXPECT_EQ(reading.refusal.empty(), verdict.accepted)
          << entry.path() << ": " << reading.refusal << "\n"
          << verdict.said;
      if (reading.refusal.empty() && verdict.accepted) {
        EXPECT_EQ(difference(reading, verdict, SlurmProgram::sbatch), "") << entry.path();
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

struct Choice {
  Words spellings;
  Words values;
};

/// Spellings with their whole, short and cut-off forms; the last values are such as sbatch refuses.
const std::vector<Choice>& choices() {
  static const Words small = {"1", "2", "4", "8", "0", "x"};
  static const std::vector<Choice> all = {
      {{"--nodes=", "-N", "--node="}, {"1", "2", "2-4", "4", "8", "two"}},
      {{"--ntasks=", "-n"}, {"1", "2", "4", "8", "16", "0x"}},
      {{"--ntasks-per-node=", "--tasks-per-node=", "--ntasks-per-n=", "--tasks-p="}, small},
      {{"--ntasks-per-gpu=", "--ntasks-per-g="}, {"1", "2"}},
      {{"--ntasks-per-socket="}, {"1", "2"}},
      {{"--cpus-per-task=", "-c", "--cpus-per-t="}, {"1", "4", "7", "=4"}},
      {{"--cpus-per-gpu=", "--cpus-per-g="}, {"4", "8"}},
      {{"--gpus=", "-G", "--gpus"}, {"2", "4", "8", "a100:4"}},
      {{"--gpus-per-node=", "--gpus-per-n="}, {"2", "4", "8", "a100:4", "x:"}},
      {{"--gpus-per-task=", "--gpus-per-t="}, {"1", "2"}},
      {{"--gpus-per-socket=", "--gpus-per-s="}, {"1", "2"}},
      {{"--sockets-per-node=", "--so="}, {"1", "2"}},
      {{"--gres=", "--gre="}, {"gpu:4", "gpu:a100:2", "gpu:1", "nvme:1"}},
      {{"--mem=", "--me="}, {"0", "8G", "4096", "1T", "4Q"}},
      {{"--mem-per-cpu=", "--mem-per-c="}, {"2G", "1500M"}},
      {{"--mem-per-gpu="}, {"16G"}},
      {{"--time=", "-t", "--ti="}, {"10", "1:30", "01:00:00", "2-0", "1-12:30", "1h"}},
      {{"--exclusive", "--excl"}, {"", "=user"}},
      {{"--oversubscribe", "-s", "--over"}, {""}},
      {{"--core-spec=", "-S"}, {"1", "2"}},
      {{"--thread-spec="}, {"2"}},
      {{"--gpu-bind="}, {"none", "closest", "single:1", "map_gpu:0,1"}},
      {{"--partition=", "-p", "--part="}, {"p"}},
      {{"--account=", "-A", "--acc="}, {"a"}},
      {{"--tres-per-task="}, {"cpu:4", "gres/gpu:1"}},
      {{"--requeue", "--requ"}, {""}},
      {{"--signal="}, {"USR2@120", "TERM", "USRX@1"}},
      {{"--unknown-option="}, {"1"}},
  };
  return all;
}

Words random_options(std::mt19937& random) {
  const auto pick = [&random](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  Words words;
  // Nodes, tasks and tasks a node together, which may contradict each other.
  const bool counts_tasks = pick(4) == 0;
  for (std::size_t count = counts_tasks ? 3 : 1 + pick(6); count > 0; --count) {
    const auto& choice = choices()[counts_tasks ? count - 1 : pick(choices().size())];
    // A refusal hides all others: most spellings are whole, and most values good.
    const auto& spelling = choice.spellings[pick(3) == 0 ? pick(choice.spellings.size()) : 0];
    const bool any = pick(8) == 0;
    const auto good = choice.values.size() > 2 ? choice.values.size() - 2 : 1;
    words.push_back(spelling + choice.values[pick(any ? choice.values.size() : good)]);
  }
  return words;
}

void compare(const std::string& name, SlurmProgram program, int rounds) {
  Judge judge;
  const int version = judge.version();
  if (version == 0) GTEST_SKIP() << "unavailable: no sbatch";
  std::mt19937 random(49);
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto options = random_options(random);
    std::string line;
    for (const auto& option : options) line += option + " ";
    const std::vector<std::string_view> words(options.begin(), options.end());
    auto reading = read(words, program, version);
    const auto verdict = judge.judge(name, options, "");
    // Newer versions refuse them together; how 22.05 joins two numbers is not ours to say.
    const auto gives = [&reading](std::string_view option, std::string_view part) {
      return std::ranges::any_of(reading.options, [&](const OptionGiven& given) {
        return given.name == option && given.value.find(part) != std::string_view::npos;
      });
    };
    if (gives("gres", "gpu") && gives("gpus-per-node", "")) continue;
    // Without a job, srun counts tasks by rules of its own.
    if (program == SlurmProgram::srun && (verdict.contradicts || reading.contradicts)) continue;
    EXPECT_EQ(reading.refusal.empty(), verdict.accepted)
        << name << " " << line << "\nwe say: " << reading.refusal << "\n"
        << verdict.said;
    if (!verdict.accepted) continue;
    ++accepted;
    EXPECT_EQ(difference(reading, verdict, program), "") << line;
  }
  EXPECT_GT(accepted * 4, rounds) << "most sets are refused, and the rest is hardly looked at";
}

TEST(SlurmJudge, SbatchAcceptsAndRefusesOptionsAsWeDo) {
  compare("sbatch", SlurmProgram::sbatch, full_tier() ? 10'000 : rounds_here(500));
}

TEST(SlurmJudge, SrunAcceptsAndRefusesOptionsAsWeDo) {
  compare("srun", SlurmProgram::srun, full_tier() ? 2'000 : rounds_here(200));
}

}  // namespace
}  // namespace dllaunch
