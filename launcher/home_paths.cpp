#include "launcher/home_paths.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace dllaunch {
namespace {

void expand(std::string& path, const std::string& home) {
  if (path == "~" || path.starts_with("~/")) path.replace(0, 1, home);
}

}  // namespace

Job with_home(Job job, const std::string& home) {
  if (job.environment.activate) expand(*job.environment.activate, home);
  if (auto& container = job.environment.container) {
    expand(container->image, home);
    for (auto& mount : container->mounts) expand(mount, home);
  }
  for (auto& source : job.stage) expand(source, home);
  if (job.train.is_object() && job.train.contains("dataset")) {
    auto& dataset = job.train["dataset"];
    if (dataset.is_object() && dataset.contains("path") && dataset["path"].is_string())
      expand(dataset["path"].get_ref<std::string&>(), home);
  }
  return job;
}

}  // namespace dllaunch
