#include "tests/launcher/stored_runs.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "launcher/run/run_index.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

}  // namespace

RunPlace::RunPlace() : started_in_(fs::current_path()) {
  system.variables["XDG_STATE_HOME"] = folder_.path() + "/state";
  fs::create_directory(path_of("started-here"));
  fs::current_path(path_of("started-here"));
}

RunPlace::~RunPlace() {
  std::error_code ignored;
  fs::current_path(started_in_, ignored);
}

std::string RunPlace::store(const RunToStore& run) {
  const RunDir dir{.path = path_of(run.folder)};
  fs::create_directories(dir.out());
  Json plan = {{"name", run.name},
               {"launcher", run.job_id.empty() ? "local" : "slurm"},
               {"nodes", run.job_id.empty() ? 1 : 2},
               {"ranks", 4},
               {"ranks_per_node", 2},
               {"sbatch", Json::object()}};
  if (!run.job_id.empty())
    plan["sbatch"] = {{"--time", "00:10:00"},
                      {"--signal", "B:USR1@30"},
                      {"--output", dir.path + "/slurm-%j.out"}};
  if (run.elastic) plan["recovery"] = {{"min_nodes", 1}};
  if (!run.array.empty()) plan["sbatch"]["--array"] = run.array;
  std::ofstream(dir.plan_json()) << plan;
  if (run.trains) std::ofstream(dir.train_json()) << R"({"epochs": 3})";
  if (!run.job_id.empty()) std::ofstream(dir.job_id()) << run.job_id << "\n";
  if (!run.status.empty())
    std::ofstream(dir.summary()) << Json{{"status", run.status}, {"seconds", 61.5}};
  EXPECT_TRUE(remember_run(system, dir));
  // The file system's clock is coarser than a test is quick.
  ++stored_;
  for (const auto& entry : fs::directory_iterator(*run_index_folder(system))) {
    std::ifstream file(entry.path());
    std::string path;
    if (std::getline(file, path) && path == dir.path)
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(1) +
                                            std::chrono::seconds(stored_));
  }
  return dir.path;
}

void RunPlace::append(const std::string& run_path, const std::string& name,
                      const std::string& text) const {
  std::ofstream(run_path + "/" + name, std::ios::app | std::ios::binary) << text;
}

}  // namespace dllaunch
