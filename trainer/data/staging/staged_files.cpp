#include "trainer/data/staging/staged_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "support/random.hpp"

namespace dllaunch {

namespace fs = std::filesystem;

Error staging_error(const std::string& what, const fs::path& path, int why) {
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  return {full ? ErrorKind::unsatisfiable : ErrorKind::unavailable,
          fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(why)),
          full ? "dataset.stage_failure: in_place reads the files where they are" : ""};
}

Result<std::vector<StagedFile>> list_files(const fs::path& folder, const Tick& tick) {
  std::vector<StagedFile> files;
  std::error_code failed;
  const auto links = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, links, failed), end; !failed && at != end;
       at.increment(failed)) {
    tick();
    struct stat status {};
    if (::stat(at->path().c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ELOOP) continue;
      return staging_error("read", at->path(), errno);
    }
    const std::string name = at->path().lexically_relative(folder).string();
    if (S_ISDIR(status.st_mode)) files.push_back({name + '/'});
    if (!S_ISREG(status.st_mode)) continue;
    files.push_back({name, static_cast<std::uint64_t>(status.st_size),
                     status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
  }
  if (failed) return staging_error("list", folder, failed.value());
  std::ranges::sort(files, {}, &StagedFile::name);
  return files;
}

std::uint64_t key_of(const std::vector<StagedFile>& files) {
  std::uint64_t key = 0;
  for (const auto& file : files) {
    key = random_key(key, file.name);
    key = random_bits(key, file.bytes);
    key = random_bits(key, static_cast<std::uint64_t>(file.written_ns));
  }
  return key;
}

bool same_names_and_sizes(const std::vector<StagedFile>& a, const std::vector<StagedFile>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const StagedFile& x, const StagedFile& y) {
                      return x.name == y.name && x.bytes == y.bytes;
                    });
}

void remove_tree(const fs::path& folder, const Tick& tick) {
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    tick();
    std::error_code kept;
    if (at->symlink_status(kept).type() != fs::file_type::directory) fs::remove(at->path(), kept);
  }
  fs::remove_all(folder, ignored);  // removes the now empty folders
}

}  // namespace dllaunch
