#include "launcher/job/expand_tilde.hpp"

#include <utility>

#include "support/json.hpp"

namespace dllaunch {
namespace {

void expand(std::string& path, const std::string& home) {
  if (path == "~" || path.starts_with("~/")) path.replace(0, 1, home);
}

void expand_key(Json& block, const char* key, const std::string& home) {
  if (block.is_object() && block.contains(key) && block[key].is_string())
    expand(block[key].text(), home);
}

}  // namespace

Job expand_tilde(Job job, const std::string& home) {
  if (job.environment.activate) expand(*job.environment.activate, home);
  if (auto& container = job.environment.container) {
    expand(container->image, home);
    for (auto& mount : container->mounts) expand(mount, home);
  }
  for (auto& source : job.stage) expand(source, home);
  if (job.train.is_object()) {
    expand_key(job.train, "init_from", home);
    if (job.train.contains("dataset")) expand_key(job.train["dataset"], "path", home);
  }
  return job;
}

}  // namespace dllaunch
