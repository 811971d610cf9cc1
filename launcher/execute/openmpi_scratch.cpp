#include "launcher/execute/openmpi_scratch.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr const char* shared_memory_folder = "/dev/shm";
constexpr std::string_view name_stem = "dllaunch-";
constexpr std::size_t random_letters = 6;

std::string temporary_folder() {
  std::error_code error;
  const fs::path found = fs::temp_directory_path(error);
  return error ? "/tmp" : found.string();
}

bool has_scratch_name(const std::string& name) {
  return name.starts_with(name_stem) && name.size() == name_stem.size() + random_letters;
}

/// A descriptor that holds the folder's lock; -1 when it is not ours or somebody has it.
int lock_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  struct stat info {};
  if (fstat(folder, &info) == 0 && info.st_uid == geteuid() &&
      flock(folder, LOCK_EX | LOCK_NB) == 0) {
    return folder;
  }
  close(folder);
  return -1;
}

bool is_older(int folder, std::chrono::seconds age) {
  struct stat info {};
  return fstat(folder, &info) == 0 && std::time(nullptr) - info.st_mtime >= age.count();
}

}  // namespace

OpenMpiScratch::Folder OpenMpiScratch::make_folder(const std::string& below) {
  constexpr std::chrono::minutes surely_locked(1);
  sweep_scratch(below, surely_locked);
  std::string path = below + "/" + std::string(name_stem) + std::string(random_letters, 'X');
  if (mkdtemp(path.data()) == nullptr) return {};
  return {path, lock_folder(path)};
}

OpenMpiScratch::OpenMpiScratch()
    : session_(make_folder(temporary_folder())),
      shared_memory_(make_folder(shared_memory_folder)) {}

OpenMpiScratch::~OpenMpiScratch() {
  for (const auto& [path, lock] : {session_, shared_memory_}) {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
    if (lock >= 0) close(lock);
  }
}

std::vector<std::pair<std::string, std::string>> OpenMpiScratch::variables() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (!session_.path.empty()) {
    all.emplace_back("OMPI_MCA_orte_tmpdir_base", session_.path);
    all.emplace_back("PRTE_MCA_prte_tmpdir_base", session_.path);
  }
  if (!shared_memory_.path.empty()) {
    for (const char* name : {"btl_vader", "btl_sm", "osc_sm", "osc_rdma"}) {
      all.emplace_back(std::string("OMPI_MCA_") + name + "_backing_directory", shared_memory_.path);
    }
  }
  return all;
}

int sweep_scratch(const std::string& below, std::chrono::seconds age) {
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator at(below, error), end; !error && at != end; at.increment(error)) {
    if (!has_scratch_name(at->path().filename().string())) continue;
    const int lock = lock_folder(at->path().string());
    if (lock < 0) continue;
    std::error_code failed;
    if (is_older(lock, age)) fs::remove_all(at->path(), failed);
    removed += fs::exists(at->path(), failed) ? 0 : 1;
    close(lock);
  }
  return removed;
}

}  // namespace dllaunch
