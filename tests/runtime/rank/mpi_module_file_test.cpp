#include "runtime/rank/mpi_module_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "support/shared_library.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

EnvLookup set_to(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(MpiModuleFile, ThePlacesAreTheUsersOwnAndThoseOfTheProgram) {
  const std::string program = own_folder();
  const std::string above = own_folder().parent_path();
  EXPECT_EQ(mpi_module_places(set_to({{"HOME", "/home/ada"}})),
            (std::vector<std::string>{"/home/ada/.local/lib/dllaunch/libdltrain_mpi.so",
                                      program + "/libdltrain_mpi.so",
                                      above + "/lib/dllaunch/libdltrain_mpi.so"}));
  EXPECT_EQ(mpi_module_places(set_to({})).size(), 2u);
  EXPECT_EQ(own_mpi_module(set_to({})), "");
}

TEST(MpiModuleFile, TheVariableNamesTheOnlyOne) {
  const auto lookup = set_to({{"HOME", "/home/ada"}, {"DLLAUNCH_MPI_MODULE", "/opt/m.so"}});
  EXPECT_EQ(mpi_module_places(lookup), std::vector<std::string>{"/opt/m.so"});
  EXPECT_EQ(find_mpi_module(lookup), "/opt/m.so") << "dltrain says that there is no such file";
  EXPECT_EQ(find_mpi_module(set_to({{"HOME", "/home/ada"}, {"DLLAUNCH_MPI_MODULE", ""}})),
            std::nullopt);
}

TEST(MpiModuleFile, TheUsersOwnComesFirst) {
  const TemporaryFolder home;
  const auto lookup = set_to({{"HOME", home.path()}});
  const std::string own = own_mpi_module(lookup);
  EXPECT_NE(find_mpi_module(lookup), own);
  fs::create_directories(fs::path(own).parent_path());
  std::ofstream(own) << "a module";
  EXPECT_EQ(find_mpi_module(lookup), own);
}

}  // namespace
}  // namespace dllaunch
