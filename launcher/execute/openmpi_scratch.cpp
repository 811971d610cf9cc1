#include "launcher/execute/openmpi_scratch.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string make_folder(const fs::path& below) {
  std::string path = (below / "dllaunch-XXXXXX").string();
  return mkdtemp(path.data()) != nullptr ? path : std::string();
}

}  // namespace

OpenMpiScratch::OpenMpiScratch() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  session_ = make_folder(error ? fs::path("/tmp") : temporary);
  shared_memory_ = make_folder("/dev/shm");
}

OpenMpiScratch::~OpenMpiScratch() {
  std::error_code ignored;
  if (!session_.empty()) fs::remove_all(session_, ignored);
  if (!shared_memory_.empty()) fs::remove_all(shared_memory_, ignored);
}

std::vector<std::pair<std::string, std::string>> OpenMpiScratch::variables() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (!session_.empty()) {
    all.emplace_back("OMPI_MCA_orte_tmpdir_base", session_);
    all.emplace_back("PRTE_MCA_prte_tmpdir_base", session_);
  }
  if (!shared_memory_.empty()) {
    for (const char* name : {"btl_vader", "btl_sm", "osc_sm", "osc_rdma"}) {
      all.emplace_back(std::string("OMPI_MCA_") + name + "_backing_directory", shared_memory_);
    }
  }
  return all;
}

}  // namespace dllaunch
