#include "tests/topology/node/machines.hpp"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "topology/discovery/topology_format.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

const fs::path source_dir = DLLAUNCH_SOURCE_DIR;
const fs::path fixtures = source_dir / "tests" / "fixtures" / "topology";

// The checkout may be a worktree next to the main one.
fs::path captures() {
  const auto folder = source_dir / ".." / "shared" / "topologies";
  return fs::exists(folder) ? folder : source_dir / "shared" / "topologies";
}

std::vector<std::string> files_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (extension.empty() || entry.path().extension() == extension)
      found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Topology machine(std::string_view synthetic) {
  auto topology = synthetic_topology(synthetic);
  if (!topology) {
    ADD_FAILURE() << topology.error().what;
    return {};
  }
  return *std::move(topology);
}

Topology fixture(const std::string& name) {
  auto topology = load_topology((fixtures / name).string());
  if (!topology) {
    ADD_FAILURE() << topology.error().what;
    return {};
  }
  return *std::move(topology);
}

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& path : files_in(fixtures, "")) names.push_back(fs::path(path).filename());
  return names;
}

std::vector<std::string> captured_files() {
  return files_in(captures(), ".xml");
}

std::string captured(const std::string& id) {
  return (captures() / (id + ".xml")).string();
}

}  // namespace dllaunch
