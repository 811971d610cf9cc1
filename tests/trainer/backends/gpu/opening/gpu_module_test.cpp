#include "trainer/backends/gpu/opening/gpu_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace dllaunch::gpu {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::filesystem::path module_file = DLLAUNCH_OPENING_MODULE;

std::string complaint(const GpuModule& module, const std::filesystem::path& folder) {
  const auto opened = open_module(module, folder);
  if (opened) return "nothing";
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(opened.error().what.find('\n'), std::string::npos);
  return opened.error().what;
}

TEST(GpuModule, IsGivenTheRankAndItsVariables) {
  ASSERT_EQ(::setenv("DLLAUNCH_ANSWER", "somebody", 1), 0);
  EXPECT_EQ(complaint({.file = module_file.filename(), .entry = "answer_opening"},
                      module_file.parent_path()),
            "rank 0 of somebody");
}

TEST(GpuModule, NamesWhatIsMissingAndWhatIsNeeded) {
  EXPECT_THAT(complaint({.file = "libno.so", .entry = "open", .needs = "HIP 6.2.0, MIOpen 3.2.0"},
                        "/no/such"),
              AllOf(StartsWith("it cannot be loaded: /no/such/libno.so: "),
                    EndsWith("; this build needs HIP 6.2.0, MIOpen 3.2.0")));
  EXPECT_THAT(
      complaint({.file = module_file.filename(), .entry = "no_entry"}, module_file.parent_path()),
      HasSubstr("no_entry"));
}

}  // namespace
}  // namespace dllaunch::gpu
