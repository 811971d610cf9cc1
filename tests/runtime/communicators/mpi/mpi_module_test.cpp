// Modules that are refused. The ranks of communicators_test use the real one.
#include "runtime/communicators/mpi/mpi_module.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace dllaunch {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(MpiModule, TheLibraryIsNamedInOneLine) {
  EXPECT_EQ(library_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"),
            "Open MPI v4.1.4");
  EXPECT_EQ(library_name("MPICH Version:      5.0.2\nMPICH Release date: ..."),
            "MPICH Version: 5.0.2");
  EXPECT_EQ(library_name("MPI VERSION    : CRAY MPICH version 8.1.29.11 (ANL base 3.4a2)\nMPI"),
            "MPI VERSION : CRAY MPICH version 8.1.29.11 (ANL base 3.4a2)");
  EXPECT_EQ(library_name(""), "");
}

TEST(MpiModule, OpenMpiFitsItsMajorVersion) {
  EXPECT_TRUE(fits_library("Open MPI 4.1.4", "Open MPI v4.0.3"));
  EXPECT_FALSE(fits_library("Open MPI 4.1.4", "Open MPI v5.0.11"));
  EXPECT_FALSE(fits_library("Open MPI 5.0.11", "Open MPI v4.1.4"));
  EXPECT_FALSE(fits_library("Open MPI 1.10.7", "Open MPI v10.0.0"));
  EXPECT_TRUE(fits_library("Open MPI 4.1.4", "IBM Spectrum MPI v10.4.0"));
  EXPECT_FALSE(fits_library("Open MPI 4.1.4", "MPICH Version: 5.0.2"));
}

TEST(MpiModule, MpichFitsAllOfItsKin) {
  for (const char* library :
       {"MPICH Version: 4.3.0", "MPI VERSION : CRAY MPICH version 8.1.29.11 (ANL base 3.4a2)",
        "Intel(R) MPI Library 2021.13 for Linux* OS", "MVAPICH Version : 4.0"}) {
    EXPECT_TRUE(fits_library("MPICH 5.0.2", library)) << library;
  }
  EXPECT_FALSE(fits_library("MPICH 5.0.2", "Open MPI v5.0.11"));
}

TEST(MpiModule, TheStandardAbiFitsWhatOffersIt) {
  EXPECT_TRUE(fits_library("MPI ABI 1.0", "MPICH Version: 5.0.2"));
  EXPECT_TRUE(fits_library("MPI ABI 1.0", "Open MPI v6.0.0"));
}

TEST(MpiModule, IsRefusedInOneLineThatNamesBoth) {
  const auto module = open_mpi_module(DLLAUNCH_UNFIT_MODULE);
  EXPECT_EQ(module.problem, "the MPI module " DLLAUNCH_UNFIT_MODULE
                            " is for Open MPI 4.1.4, but the MPI library here is Open MPI v5.0.11");
  EXPECT_EQ(module.fits, "Open MPI 4.1.4");
  EXPECT_EQ(module.library, "Open MPI v5.0.11");
}

TEST(MpiModule, OfAnotherDltrainIsRefused) {
  EXPECT_THAT(open_mpi_module(DLLAUNCH_OLD_MODULE).problem,
              EndsWith(" has version 0 of the table, dltrain has 1"));
}

TEST(MpiModule, SaysWhyItCannotBeLoaded) {
  const auto missing = open_mpi_module("/nowhere/libdltrain_mpi.so");
  EXPECT_THAT(missing.problem, StartsWith("the MPI module /nowhere/libdltrain_mpi.so cannot be "
                                          "loaded: /nowhere/libdltrain_mpi.so: "));
  EXPECT_THAT(open_mpi_module("libm.so.6").problem, HasSubstr("undefined symbol"));
}

TEST(MpiModule, WhereThereIsNoneTheErrorSaysHowToMakeOne) {
  const auto loaded = load_mpi([](const std::string& name) {
    return name == "DLLAUNCH_MPI_MODULE" ? std::optional<std::string>("") : std::nullopt;
  });
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().what, "there is no MPI module");
  EXPECT_THAT(loaded.error().hint, HasSubstr("dllaunch build-mpi-module"));
}

}  // namespace
}  // namespace dllaunch
