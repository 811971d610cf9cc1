// What a cluster profile says that only a rank on its node can do: folders on the node's own disk,
// and the name by which other nodes reach this one.
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

/// "/tmp/{user}-cache-{job}" on this node: {user}, {job} and {node} from the environment.
std::string fill_in(std::string path, const EnvLookup& lookup);

/// "n17i.site.org" of "n17.site.org" and "i".
std::string with_suffix(const std::string& host, const std::string& suffix);

/// Makes the folder for this user alone; ranks of a node may do so at once. unavailable: it cannot
/// be made, or is another user's or a link: in /tmp anybody may have put it there.
Result<Ok> make_own_folder(const std::string& path);

}  // namespace dllaunch
