#include "launcher/accounting/rank_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using Peaks = std::vector<std::optional<std::int64_t>>;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RankMemory, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  append_memory(folder.path(), {{.time = 10, .rank = 0, .host = "n1", .peak_bytes = 500},
                                {.time = 10, .rank = 2, .host = "n1", .peak_bytes = 700}});
  append_memory(folder.path(), {{.time = 20, .rank = 0, .host = "n1", .peak_bytes = 400}});
  const auto text = text_of(memory_file(folder.path()));
  EXPECT_EQ(text.find("time,rank,host,peak_bytes\n"), 0U);
  EXPECT_EQ(text.rfind("time,rank"), 0U) << "one header";
  EXPECT_EQ(peaks_in(text, 0), (Peaks{500, std::nullopt, 700}));
  EXPECT_EQ(peaks_in(text, 15), Peaks{400}) << "of the present run";
}

TEST(RankMemory, SkipsNonsense) {
  EXPECT_EQ(peaks_in("1,0,n1,0\n1,-1,n1,5\n1,1024,n1,5\nx\n1,0,a,b,5\n1,99999999999,n,5\n", 0),
            Peaks{});
  append_memory("/nowhere", {{.time = 1, .rank = 0, .host = "n", .peak_bytes = 1}});
}

}  // namespace
}  // namespace dllaunch
