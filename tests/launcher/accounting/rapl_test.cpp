#include "launcher/accounting/rapl.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

void write(const std::string& folder, const std::string& zone, const std::string& name,
           const std::string& energy) {
  const fs::path path = fs::path(folder) / zone;
  fs::create_directories(path);
  std::ofstream(path / "name") << name << "\n";
  std::ofstream(path / "energy_uj") << energy << "\n";
  std::ofstream(path / "max_energy_range_uj") << "262143328850\n";
}

TEST(Rapl, CountersWrap) {
  EXPECT_EQ(energy_between(100, {.now = 150, .range = 1000}), 50U);
  EXPECT_EQ(energy_between(900, {.now = 150, .range = 1000}), 250U);
  EXPECT_FALSE(energy_between(900, {.now = 150, .range = 0})) << "at what is not known";
  EXPECT_FALSE(energy_between(900, {.now = 150, .range = 800}));
}

TEST(Rapl, AddsThePackagesAndNotTheirPartsAgain) {
  const TemporaryFolder folder;
  write(folder.path(), "intel-rapl:0", "package-0", "262143000000");
  write(folder.path(), "intel-rapl:0:0", "core", "5");
  write(folder.path(), "intel-rapl:1", "package-1", "7000000");
  write(folder.path(), "intel-rapl:2", "psys", "9");
  EXPECT_EQ(read_rapl(folder.path()).size(), 2U);
  RaplMeter meter(folder.path());
  write(folder.path(), "intel-rapl:0", "package-0", "1671150");  // it has wrapped
  write(folder.path(), "intel-rapl:1", "package-1", "10000000");
  EXPECT_EQ(meter.joules(), 5.0);
}

TEST(Rapl, IsUnknownWhereItCannotBeRead) {
  EXPECT_FALSE(RaplMeter("/nowhere").joules());
  const TemporaryFolder folder;
  write(folder.path(), "intel-rapl:0", "package-0", "100");
  EXPECT_FALSE(RaplMeter(folder.path()).joules()) << "a counter that stands still";
  RaplMeter lost(folder.path());
  write(folder.path(), "intel-rapl:0", "package-0", "");
  EXPECT_FALSE(lost.joules());
  write(folder.path(), "intel-rapl:0", "package-0", "5000000");
  EXPECT_FALSE(lost.joules()) << "a part of it was missed";
  write(folder.path(), "intel-rapl:1", "package-1", "");
  EXPECT_TRUE(read_rapl(folder.path()).empty()) << "one package alone would be too little";
}

}  // namespace
}  // namespace dllaunch
