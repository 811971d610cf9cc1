// The tasks of a job array, as sbatch takes them, and as squeue, scontrol and sacct write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// squeue of 22.05 cuts a long list short, without its "]"; newer ones end it with "...".
struct ArrayTasks {
  std::vector<int> numbers = {};  // ascending
  int at_once = 0;                // 0: no limit
  bool cut = false;               // Slurm has shortened the list: there are more
};

/// Parses "0-12:2,20%3", or it in a job's id, "74_[0-12:2,20%3]". nullopt: another text, "74_3"
/// among them.
std::optional<ArrayTasks> parse_array_tasks(std::string_view text);

/// "0-3,7%2", for sbatch.
std::string to_string(const ArrayTasks& tasks);

/// How many jobs a line of squeue or sacct with this id stands for: 7 for "74_[0-12:2]", 1 for "74"
/// and "74_3". If the list is cut, those that are in it.
int jobs_with_id(std::string_view id);

}  // namespace dllaunch
