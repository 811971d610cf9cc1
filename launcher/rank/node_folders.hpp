// Parts of a cluster profile that only a rank on its node can apply: folders on local disks, and
// the host name by which other nodes reach this one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct SiteSettings {
  std::vector<std::pair<std::string, std::string>> node_folders = {};  // variable -> path
  std::string host_suffix = {};
};

/// Returns a path such as "/tmp/{user}-cache-{job}" with {user}, {job} and {node} filled in from
/// the environment.
std::string fill_in(std::string path, const EnvLookup& lookup);

/// Returns "n17i.site.org" for "n17.site.org" and "i".
std::string with_suffix(const std::string& host, const std::string& suffix);

/// Creates the folder for this user alone; safe if several ranks do so at once. unavailable: it
/// cannot be created, or is a link or owned by another user: /tmp is writable by all.
Result<Ok> make_own_folder(const std::string& path);

}  // namespace dllaunch
