// every_loss TRAIN.json OUT: trains like dltrain, and rank 0 writes every step's loss in full
// precision. events.jsonl has at most ten per second.
#include <cstdio>
#include <fstream>

#include <fmt/core.h>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/rank/rank_env.hpp"
#include "trainer/config/config.hpp"
#include "trainer/training/train.hpp"

int main(int argc, char** argv) {
  using namespace dllaunch;
  if (argc != 3) return 2;
  auto env = read_rank_env(process_environment());
  auto config = read_config(argv[1]);
  if (!env || !config) return 2;
  auto communicator = open_communicator(config->runtime.allreduce, *env);
  if (!communicator) return 3;
  std::ofstream out;
  if (env->rank == 0) out.open(argv[2]);
  TrainOptions options;
  options.prepare.config = *config;
  options.prepare.threads = 1;  // spinning threads are slow beside other ranks
  options.prepare.open_peers = [&env] { return open_peers(*env); };
  options.prepare.run_dir = std::filesystem::absolute(argv[1]).parent_path();
  options.on_step = [&](const StepReport& step) { out << fmt::format("{:.17g}\n", step.loss); };
  auto report = train(options, **communicator);
  if (!report) std::fputs(report.error().what.c_str(), stderr);
  return report && report->status == TrainStatus::completed ? 0 : 1;
}
