#include "runtime/gpu/device_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace dllaunch {
namespace {

std::vector<std::string> addresses_of(std::span<const SeenGpu> seen) {
  std::vector<std::string> addresses;
  for (const SeenGpu& gpu : seen) addresses.push_back(plain_pci_address(gpu.pci));
  return addresses;
}

Error not_seen(const std::vector<std::string>& wanted, const std::vector<std::string>& seen) {
  return {ErrorKind::unavailable,
          fmt::format("this rank's GPU {} is not among those it sees: {}", fmt::join(wanted, ", "),
                      fmt::join(seen, ", ")),
          "check what CUDA_VISIBLE_DEVICES and Slurm's --gpu-bind hide"};
}

}  // namespace

std::string plain_pci_address(std::string_view address) {
  std::string plain;
  for (const char c : address) {
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto colons = std::ranges::count(plain, ':');
  if (colons == 1) return "0000:" + plain;
  const auto domain = plain.find(':');
  // NVML pads domains of four digits to eight; VMD controllers really have five.
  while (colons == 2 && plain.find(':') > 4 && plain.front() == '0') plain.erase(0, 1);
  if (colons == 2 && domain < 4) plain.insert(0, 4 - domain, '0');
  return plain;
}

Result<int> choose_gpu(std::span<const SeenGpu> seen, const GpuWish& wish) {
  if (seen.empty()) return Error{ErrorKind::unavailable, "none is visible", ""};
  const std::vector<std::string> here = addresses_of(seen);
  std::vector<std::string> wanted;
  for (const std::string& address : wish.pci) wanted.push_back(plain_pci_address(address));
  for (const std::string& address : wanted) {
    const auto found = std::ranges::find(here, address);
    if (found != here.end()) return static_cast<int>(found - here.begin());
  }
  // One GPU per task: the launcher's choice overrides an address.
  if (here.size() == 1) return 0;
  if (!wanted.empty()) return not_seen(wanted, here);

  std::vector<int> order(here.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return here[static_cast<std::size_t>(i)]; });
  return order[static_cast<std::size_t>(wish.local_rank) % order.size()];
}

GpuWish read_gpu_wish(const RankEnv& rank, const EnvLookup& lookup) {
  GpuWish wish{.local_rank = rank.local_rank};
  const std::string list = lookup("DLLAUNCH_GPUS").value_or("");
  std::string address;
  for (const char c : list + ",") {
    if (c != ',') {
      address += c;
      continue;
    }
    if (!address.empty()) wish.pci.push_back(address);
    address.clear();
  }
  return wish;
}

std::string version_text(int version, const VersionUnits& units) {
  const int rest = version % units.major;
  std::string text = fmt::format("{}.{}", version / units.major, rest / units.minor);
  if (units.patch > 0) text += fmt::format(".{}", rest % units.minor / units.patch);
  return text;
}

std::optional<Error> version_problem(const LibraryVersion& library) {
  const auto& [name, found, needed, units, is_driver] = library;
  const int major = needed / units.major;
  const bool fits =
      is_driver ? found / units.major >= major : found / units.major == major && found >= needed;
  if (fits) return std::nullopt;
  const std::string need =
      is_driver ? fmt::format("{}.0 or later", major)
                : fmt::format("{} or a later {}", version_text(needed, units), major);
  if (found == 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("found no {}, this build needs {}", name, need), ""};
  }
  return Error{
      ErrorKind::unavailable,
      fmt::format("found {} {}, this build needs {}", name, version_text(found, units), need), ""};
}

}  // namespace dllaunch
