// What /proc says of processes, which are called and configured as strangers like.
#include "launcher/doctor/proc_text.hpp"
#include "tests/fuzz/must_hold.hpp"
#include "topology/discovery/cgroup_paths.hpp"
#include "topology/discovery/cpu_quota.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  parse_proc_status(text);
  command_in(text);
  parse_proc_limits(text);
  for (const auto& [name, value] : parse_proc_environment(text)) {
    must_hold(!name.empty(), "a variable has a name");
    must_hold(name.find('=') == std::string::npos, "which ends at the first =");
  }
  for (const auto& library : gpu_libraries_in(text))
    must_hold(library.starts_with("lib") && library.find('/') == std::string::npos,
              "a library is named without its folder");
  const auto policy = parse_numa_maps(text);
  must_hold(!policy.mode.empty(), "a policy has a name");
  const auto paths = parse_proc_cgroup(text);
  for (const auto& path : {paths.unified, paths.cpu, paths.cpuset, paths.devices, paths.memory}) {
    must_hold(path.empty() || path[0] == '/', "a path begins at the mount");
    must_hold(path.find('\n') == std::string::npos, "and is one line");
  }
  if (const auto cpus = cpus_of_cpu_max(text)) must_hold(*cpus >= 0, "a quota is no debt");
  if (const auto devices = nvidia_devices_in(text))
    must_hold(!devices->contains(255), "nvidiactl is no GPU");
  return 0;
}
