#include "topology/discovery/discover_hwloc_xml.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/core.h>
#include <hwloc.h>

#include "topology/discovery/discover_hwloc_handle.hpp"
#include "topology/discovery/own_affinity.hpp"

namespace dllaunch {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

// hwloc applies cgroups; this also applies the launcher's CPU binding.
bool allow_own_cpus(hwloc_topology_t topology) {
  const Bitmap own(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  const Bitmap bound(hwloc_bitmap_alloc());
  if (!own || !bound) return false;
  for (const int cpu : own_affinity().ids())
    hwloc_bitmap_set(bound.get(), static_cast<unsigned>(cpu));
  if (hwloc_bitmap_intersects(own.get(), bound.get()) == 0) return true;
  hwloc_bitmap_and(own.get(), own.get(), bound.get());
  return hwloc_topology_allow(topology, own.get(), nullptr, HWLOC_ALLOW_FLAG_CUSTOM) == 0;
}

}  // namespace

Result<std::string> machine_xml() {
  const HwlocSetting silent("HWLOC_HIDE_ERRORS", "2");
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return hwloc_unavailable("hwloc cannot start");
  const HwlocTopology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // As in discover_topology(), but with nvml: here GPU names are worth a second.
  for (const auto* slow : {"gl", "opencl", "cuda", "x86"})
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, slow);
  if (hwloc_topology_load(raw) != 0)
    return hwloc_unavailable(
        fmt::format("hwloc cannot read this machine: {}", std::strerror(errno)));
  if (hwloc_topology_is_thissystem(raw) == 0)
    return Error{ErrorKind::unavailable, "hwloc's environment variables name another machine",
                 "unset HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT"};
  if (!allow_own_cpus(raw))
    return hwloc_unavailable(
        fmt::format("hwloc cannot restrict the topology: {}", std::strerror(errno)));
  char* text = nullptr;
  int size = 0;
  if (hwloc_topology_export_xmlbuffer(raw, &text, &size, 0) != 0)
    return hwloc_unavailable(fmt::format("hwloc cannot write XML: {}", std::strerror(errno)));
  // `size` counts the NUL.
  std::string xml(text, size > 0 ? static_cast<std::size_t>(size) - 1 : 0);
  hwloc_free_xmlbuffer(raw, text);
  return xml;
}

}  // namespace dllaunch
