#include "launcher/launch/openmpi_scratch.hpp"

namespace dllaunch {

OpenMpiScratch::OpenMpiScratch() : session_(temporary_folder()), shared_memory_("/dev/shm") {}

std::vector<std::pair<std::string, std::string>> OpenMpiScratch::variables() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (!session_.path().empty()) {
    all.emplace_back("OMPI_MCA_orte_tmpdir_base", session_.path());
    all.emplace_back("PRTE_MCA_prte_tmpdir_base", session_.path());
  }
  if (!shared_memory_.path().empty()) {
    for (const char* name : {"btl_vader", "btl_sm", "osc_sm", "osc_rdma"}) {
      all.emplace_back(std::string("OMPI_MCA_") + name + "_backing_directory",
                       shared_memory_.path());
    }
  }
  return all;
}

}  // namespace dllaunch
