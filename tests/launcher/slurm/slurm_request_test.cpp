#include "launcher/slurm/slurm_request.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

TEST(SlurmValues, ThatSlurmTakes) {
  const std::pair<const char*, const char*> good[] = {{"nodes", "2"},
                                                      {"nodes", "2-4"},
                                                      {"nodes", "1k"},
                                                      {"ntasks", "16"},
                                                      {"time", "10"},
                                                      {"time", "1:30"},
                                                      {"time", "24:00:00"},
                                                      {"time", "2-0"},
                                                      {"time", "1-12:30"},
                                                      {"time", "INFINITE"},
                                                      {"mem", "0"},
                                                      {"mem", "64G"},
                                                      {"mem-per-cpu", "1500M"},
                                                      {"signal", "B:USR2@120"},
                                                      {"signal", "SIGTERM"},
                                                      {"signal", "10@60"},
                                                      {"gpus", "a100:4"},
                                                      {"gpus-per-node", "8"},
                                                      {"gpus", "a100:2,v100:1"},
                                                      {"partition", "any thing"}};
  for (const auto& [option, value] : good) EXPECT_EQ(fault_of_value(option, value), "") << value;
}

TEST(SlurmValues, ThatSlurmRefuses) {
  const std::pair<const char*, const char*> bad[] = {
      {"ntasks-per-node", "0"}, {"nodes", "two"},     {"ntasks", "0"},
      {"ntasks", "4x"},         {"ntasks", ""},       {"cpus-per-task", "=4"},
      {"time", "1h"},           {"time", ""},         {"mem", "4Q"},
      {"mem", "lots"},          {"signal", "USRX@1"}, {"signal", ""},
      {"gpus", "x:"},           {"open-mode", "rw"}};
  for (const auto& [option, value] : bad) {
    EXPECT_NE(fault_of_value(option, value), "") << option << "=" << value;
  }
}

TEST(SlurmValues, InMegabytes) {
  EXPECT_EQ(megabytes("64G"), 65536);
  EXPECT_EQ(megabytes("64GB"), 65536);
  EXPECT_EQ(megabytes("2048K"), 2);
  EXPECT_EQ(megabytes("2049K"), 3);
  EXPECT_EQ(megabytes("1K"), 1);
  EXPECT_EQ(megabytes("1T"), 1048576);
  EXPECT_EQ(megabytes("512"), 512);
  EXPECT_EQ(megabytes("4.5G"), -1);
  EXPECT_EQ(megabytes(""), -1);
}

/// The request of options: "--nodes=2 --exclusive".
SlurmRequest asked(const std::string& line, const SlurmRequest* job = nullptr) {
  std::vector<std::string> words;
  std::istringstream split(line);
  for (std::string word; split >> word;) words.push_back(word);
  std::vector<OptionGiven> options;
  const std::vector<std::string_view> views(words.begin(), words.end());
  for (const auto& option : read_slurm_options(views, SlurmProgram::srun).options)
    options.push_back({find_slurm_option(option.name, SlurmProgram::srun)->name,
                       value_of(option, views), option.has_value});
  return job == nullptr ? job_request(options) : step_request(*job, options);
}

struct Account {
  std::string options;
  long tasks;
  long gpus;
  long cpus;
};

TEST(SlurmRequest, CountsANodesTasksGpusAndCpusOfATask) {
  const Account accounts[] = {
      {"-N2 --tasks-per-node=4 --gpus-per-n=4 -c 8", 4, 4, 8},
      {"-N2 -n16 -c7 --gpus-per-task=1", 8, 8, 7},
      {"-N2 --gpus-per-node=4 --ntasks-per-gpu=1 --cpus-per-gpu=8", 4, 4, 8},
      {"-N2 --gpus=8 --ntasks-per-gpu=2", 8, 4, -1},
      {"-N2 -n8 --ntasks-per-gpu=2", 4, 2, -1},
      {"-N2 --gpus-per-socket=2 --sockets-per-node=2 --ntasks-per-socket=2", 4, 4, -1},
      {"-N2 --gpus-per-socket=2 -B 2:8 --ntasks-per-socket=2", 4, 4, -1},
      {"-N1 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-gpu=4", 1, 4, 16},
      {"-N1 --gpus-per-node=4 --cpus-per-gpu=4", -1, 4, 16},
      {"-N1 -n2 --tres-per-task=cpu:4,gres/gpu:a100:1", 2, 2, 4},
      {"-N1 -n2 --tres-per-task=cpu=4,gres/gpu=2", 2, 4, 4},
      {"-N1 --gres=gpu:2,nvme:1 --gpus-per-task=1", 2, 2, -1},
      {"-N2 --sockets-per-node=2", 2, -1, -1},
      {"-N2 --gres=gpu:4(S:0-1)", -1, 4, -1},
      {"-N2 --gpus=7", -1, -1, -1},
      {"-N2 --ntasks-per-node=2 -n8", 4, -1, -1},
      {"-N2 --ntasks-per-node=4 -n7", 4, -1, -1},
      {"-N2 --ntasks-per-node=2 -n7", -1, -1, -1},
      {"-N2 --exclusive", -1, -1, -1},
  };
  for (const auto& [options, tasks, gpus, cpus] : accounts) {
    const auto request = asked(options);
    EXPECT_EQ(request.tasks_per_node(), tasks) << options;
    EXPECT_EQ(request.node_gpus(), gpus) << options;
    EXPECT_EQ(request.task_cpus(), cpus) << options;
    EXPECT_EQ(contradiction_in(request), "") << options;
  }
}

TEST(SlurmRequest, AStepsOptionsTakeThePlaceOfTheJobs) {
  const auto job = asked("-N2 --ntasks-per-node=8 -c 4 --gpus-per-node=8 --mem=8G");
  EXPECT_EQ(job.memory_per_node, 8192);
  EXPECT_EQ(asked("-n 8", &job).tasks_per_node(), 4);
  EXPECT_EQ(asked("--ntasks-per-gpu=2", &job).tasks_per_node(), 16);
  EXPECT_EQ(asked("--cpus-per-gpu=2", &job).task_cpus(), 2);
  EXPECT_EQ(asked("--gpus-per-node=4", &job).node_gpus(), 4);
  EXPECT_EQ(asked("-N1", &job).tasks_per_node(), 8);
  EXPECT_EQ(step_request(job, {}, false).tasks_per_node(), -1) << "an unknown word may be -n";
}

TEST(SlurmRequest, TheLastOptionOfItsNameCounts) {
  const auto request = asked("-N2 --gres=gpu:a100:2 --gres=gpu:4");
  EXPECT_EQ(request.node_gpus(), 4);
  EXPECT_EQ(contradiction_in(request), "") << "the first has a type";
}

TEST(SlurmRequest, ThereAreAsManyNodesAsTheTasksNeed) {
  EXPECT_EQ(asked("-n8 --ntasks-per-node=8").nodes, 1);
  EXPECT_EQ(asked("-n8 --ntasks-per-node=4 --gpus-per-task=1").nodes, 2);
  EXPECT_EQ(asked("-n9 --ntasks-per-node=4").nodes, -1) << "uneven";
  EXPECT_EQ(asked("-n8").nodes, -1);
}

TEST(SlurmRequest, ThereAreNoMoreNodesThanTasks) {
  EXPECT_EQ(asked("-N8 -n2").nodes, 2);
  EXPECT_EQ(asked("-N2-4 -n2").nodes, 2);
  EXPECT_TRUE(asked("-N2-4 -n3").node_range);
}

TEST(SlurmRequest, ContradictionsAreNamed) {
  const std::pair<const char*, const char*> bad[] = {
      {"-N2 --gpus-per-node=4 --gpus-per-task=1 --ntasks-per-node=8", "says 8"},
      {"-N2 --gpus=8 --gpus-per-node=2", "--nodes says 2"},
      {"-N4 --mem-per-gpu=2G", "no GPUs"},
      {"-N4 --gpus=2", "fewer than 4 nodes"},
      {"--gpus-per-task=1", "need --ntasks"},
      {"--ntasks-per-gpu=1", "needs a number"},
      {"-N2-4 --ntasks-per-gpu=1", "needs a number"},
      {"-n3 --ntasks-per-gpu=2", "no multiple"},
      {"-N1 --gpus-per-socket=2", "needs --sockets-per-node"},
      {"-N1 --gpus-per-node=3 --gpus-per-task=2", "no multiples"},
      {"-N1 --gpus=4 --gres=gpu:a100:4", "with and without a type"}};
  for (const auto& [options, words] : bad)
    EXPECT_NE(contradiction_in(asked(options)).find(words), std::string::npos)
        << options << ": " << contradiction_in(asked(options));
}

}  // namespace
}  // namespace dllaunch
