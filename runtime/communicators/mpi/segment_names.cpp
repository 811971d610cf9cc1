#include "runtime/communicators/mpi/segment_names.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/communicators/mpi/requests.hpp"

namespace dllaunch {
namespace {

bool is_segment(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return name.starts_with("vader_segment.") || name.starts_with("sm_segment.");
}

}  // namespace

std::vector<std::string> mapped_segments(std::string_view maps) {
  std::vector<std::string> found;
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    const auto line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    // The path is the last column and the only one with a '/'.
    const auto begin = line.find('/');
    if (begin == std::string_view::npos) continue;
    const std::string path(line.substr(begin));
    if (!is_segment(path) || path.ends_with(" (deleted)")) continue;
    if (std::ranges::find(found, path) == found.end()) found.push_back(path);
  }
  return found;
}

std::string forget_segment_name(int local_rank, int local_ranks) {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  const auto segments = mapped_segments(maps.str());
  const auto own = std::ranges::find_if(segments, [&](const std::string& path) {
    return path.ends_with(fmt::format(".{}", local_rank));
  });
  int all_mapped = std::ssize(segments) == local_ranks && own != segments.end() ? 1 : 0;
  must(mpi().allreduce(&all_mapped, 1, {mpi().i32, mpi().min}, mpi().world), "MPI_Allreduce");
  return all_mapped != 0 && ::unlink(own->c_str()) == 0 ? *own : "";
}

void restore_segment_name(const std::string& path) {
  if (path.empty()) return;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
}

}  // namespace dllaunch
