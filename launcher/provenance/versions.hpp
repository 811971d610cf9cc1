// Versions of what a run stands on: GPU drivers, MPI, the libraries of GPUs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// "550.54.15" of /proc/driver/nvidia/version. Empty: not in it. Pure.
std::string nvidia_driver_in(std::string_view text);

/// "2.21.5" of "/usr/lib/libnccl.so.2.21.5" for the library "libnccl.so". Empty: no version. Pure.
std::string version_of_file(std::string_view path, std::string_view library);

/// Where the dynamic loader looks first: LD_LIBRARY_PATH, then the usual folders of the system.
std::vector<std::string> library_folders(System& system);

/// What is known here without waking a GPU: name -> version. Only mpirun is started, for at most
/// 2 s. On a cluster the nodes of the job may have others.
std::map<std::string, std::string> read_versions(System& system);

}  // namespace dllaunch
