// Jobs and clusters that several tests plan with.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// A cnn on the CPUs of one node.
Job train_job();
/// Any command: `run: [python3, train.py, --epochs, "3"]`.
Job run_job();

/// The same with runtime.transport.
Job with_transport(Job job, const std::string& transport);

/// Two nodes of two CPUs, known by Slurm's counts alone.
Facts small_cluster();
/// Two kinds of node in one partition, and a partition of GPU nodes with a limit.
Facts mixed_cluster();
/// 128 nodes shaped like LUMI-G's, with the topology of one: eight GPUs in pairs on NUMA nodes 3 1
/// 0 2, the first core of each L3 kept by Slurm.
Facts lumi_like();
/// This machine, from a synthetic topology.
Facts one_machine(const std::string& topology);

Paths sample_paths();
/// Asserts that there is a plan.
LaunchPlan planned(const Job& job, const Facts& facts, bool local = false);
/// "what (hint)" of the error, "none" where there is a plan.
std::string problem_of(const Job& job, const Facts& facts, bool local = false);

}  // namespace dllaunch
