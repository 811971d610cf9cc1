// Tells local folders from those on a network file system.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// True if the path lies on one of the network file systems that clusters use, or does not exist.
/// Unknown file systems count as local.
bool lies_on_network(const std::string& path);

/// True if other machines do not see locks of that open file: NFS mounted with `nolock`, Lustre
/// with `localflock`, CIFS with `nobrl`, and BeeGFS, as far as its options tell.
bool keeps_locks_to_itself(int file);

/// The same of a device, by the text of /proc/self/mountinfo.
bool keeps_locks_to_itself(std::string_view mountinfo, unsigned major, unsigned minor);

}  // namespace dllaunch
