// Check: /dev/shm is large enough for the ranks' buffers and writable.
#include <fmt/core.h>
#include <sys/statvfs.h>

#include <cstring>

#include "launcher/os/trial_file.hpp"
#include "launcher/preflight/check.hpp"

namespace dllaunch {
namespace {

Result<Json> observe_shm(const NodeView& view, const std::string&) {
  const std::string folder = view.root + "/dev/shm";
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) != 0)
    return Json{{"error", fmt::format("{}: {}", folder, std::strerror(errno))}};
  const auto block = static_cast<double>(space.f_frsize);
  return Json{{"total_bytes", static_cast<double>(space.f_blocks) * block},
              {"free_bytes", static_cast<double>(space.f_bavail) * block},
              {"error", write_trial_file(folder).what}};
}

std::vector<NodeResult> judge_shm(const PreflightRequest& request,
                                  const std::vector<NodeSample>& samples) {
  // As in doctor's A17: NCCL, Open MPI and data loaders use some tens of MiB per rank.
  constexpr double mib = 1 << 20;
  constexpr double least = 32 * mib;
  constexpr double small = 64 * mib;
  constexpr std::string_view fix =
      "remove what dead jobs left in /dev/shm (ls -l /dev/shm); a larger one: mount -o "
      "remount,size=50% /dev/shm; in docker --shm-size=8g";
  const double ranks = std::max(request.ranks_per_node, 1);
  const auto whom = fmt::format("{:.0f} rank{}", ranks, ranks == 1 ? "" : "s");
  std::vector<NodeResult> results;
  for (const auto& [node, item, seen, trouble] : samples) {
    PreflightResult result;
    const auto total = number_of(seen, "total_bytes").value_or(0);
    const auto free = number_of(seen, "free_bytes").value_or(0);
    result.value = fmt::format("{:.0f} of {:.0f} MiB free", free / mib, total / mib);
    const auto fails = [&](Level level, std::string why) {
      result.level = level;
      result.why = std::move(why);
      result.fix = fix;
    };
    const auto error = text_of(seen, "error");
    if (!error.empty())
      fails(Level::fail, "cannot write there: " + error);
    else if (free < least * ranks)
      fails(Level::fail,
            fmt::format("less than {:.0f} MiB free for {}", least * ranks / mib, whom));
    else if (total < small * ranks)
      fails(Level::warn, fmt::format("less than {:.0f} MiB for {}", small * ranks / mib, whom));
    results.push_back({node, std::move(result)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck shm_check;
const PreflightCheck shm_check{.name = "shm",
                               .about = "/dev/shm: size, and a file written there",
                               .limit = std::chrono::milliseconds(2500),
                               .observe = observe_shm,
                               .judge = judge_shm};

}  // namespace dllaunch
