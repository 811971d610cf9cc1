#include "launcher/rank/node_folders.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace dllaunch {

std::string fill_in(std::string path, const EnvLookup& lookup) {
  // A user without a name is identified by number.
  const std::pair<std::string, std::string> values[] = {
      {"{user}", lookup("USER").value_or(std::to_string(geteuid()))},
      {"{job}", lookup("SLURM_JOB_ID").value_or("none")},
      {"{node}", lookup("SLURM_NODEID").value_or("0")}};
  for (const auto& [name, value] : values) {
    std::string word = value;
    // The value must stay a single path component.
    for (char& c : word)
      if (c == '/' || c == '\0') c = '_';
    for (std::size_t at = 0; (at = path.find(name, at)) != std::string::npos; at += word.size())
      path.replace(at, name.size(), word);
  }
  return path;
}

std::string with_suffix(const std::string& host, const std::string& suffix) {
  const auto dot = std::min(host.find('.'), host.size());
  return host.substr(0, dot) + suffix + host.substr(dot);
}

Result<Ok> make_own_folder(const std::string& path) {
  const auto refuse = [&path](std::string_view why) {
    return Error{ErrorKind::unavailable, fmt::format("folder {}: {}", path, why),
                 "name another one in environment.variables"};
  };
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  if (mkdir(path.c_str(), 0700) == 0) return Ok{};
  if (errno != EEXIST) return refuse(std::strerror(errno));
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refuse("not a folder");
  if (info.st_uid != geteuid()) return refuse("it is another user's");
  return Ok{};
}

}  // namespace dllaunch
