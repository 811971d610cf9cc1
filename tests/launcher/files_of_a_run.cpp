#include "tests/launcher/files_of_a_run.hpp"

#include <gtest/gtest.h>

#include <map>

#include "launcher/run/run_dir_files.hpp"

namespace dllaunch {

std::vector<std::string> files_of_a_run() {
  // By the row: where its name is a pattern or a folder.
  static const std::map<std::string_view, std::vector<std::string>> named = {
      {"checkpoints/", {"checkpoints/step-00000001/state.json"}},
      {".lease/", {".lease/1"}},
      {".retry/", {".retry/1.bell", ".retry/1"}},
      {"task-*/", {"task-1/plan.json"}},
      {"components/", {"components/a/plan.json"}},
      {"out/", {"out/rank-0000-n1.log", "out/n1.log"}},
      {"ranks/", {"ranks/n1.jsonl"}},
      {"slurm-*.out", {"slurm-1.out"}},
      {"timeline/", {"timeline/rank-00000.json"}},
      {"autopsy/", {"autopsy/20261127-080000.json", "autopsy/20261127-080000.txt"}},
      {"tensorboard/", {"tensorboard/events.out.tfevents.1"}},
      {"metrics.csv.*", {"metrics.csv.1"}},
      {"checkpoints.*/", {"checkpoints.1/step-00000001/state.json"}},
      {"image.s*", {"image.sif"}},
      {"shim/", {"shim/dllaunch"}},
      {".rendezvous/", {".rendezvous/1"}},
      {".dllaunch-preflight-*", {".dllaunch-preflight-1"}},
      {".*.tmp", {".summary.json.1.tmp"}},
  };
  std::vector<std::string> paths;
  for (const auto& row : run_dir_files()) {
    const auto names = named.find(row.name);
    const bool plain = row.name.find_first_of("*/") == std::string_view::npos;
    EXPECT_TRUE(plain || names != named.end()) << row.name << " has no name here";
    if (plain)
      paths.emplace_back(row.name);
    else if (names != named.end())
      paths.insert(paths.end(), names->second.begin(), names->second.end());
  }
  return paths;
}

}  // namespace dllaunch
