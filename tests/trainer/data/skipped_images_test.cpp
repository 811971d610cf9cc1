#include "trainer/data/skipped_images.hpp"
#include "runtime/communicators/opening/communicators.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

Error bad(const std::string& what) {
  return {ErrorKind::bad_request, what, ""};
}

TEST(SkippedImages, ReportsEachOnceAndCountsAll) {
  std::vector<std::string> said;
  SkippedImages skipped([&](std::string_view line) { said.emplace_back(line); });
  auto alone = *open_communicator("solo", RankEnv{});
  skipped.add({bad("a.jpg: JPEG: damaged"), bad("b.jpg: is not a JPEG")});
  EXPECT_EQ(skipped.take_sum(*alone), 2);
  skipped.add({bad("a.jpg: JPEG: damaged")});
  EXPECT_EQ(skipped.take_sum(*alone), 1);
  EXPECT_EQ(skipped.take_sum(*alone), 0);
  EXPECT_EQ(said, (std::vector<std::string>{"skipped a.jpg: JPEG: damaged",
                                            "skipped b.jpg: is not a JPEG"}));
}

TEST(SkippedImages, NamesAtMostTen) {
  std::vector<std::string> said;
  SkippedImages skipped([&](std::string_view line) { said.emplace_back(line); });
  for (int i = 0; i < 30; ++i) skipped.add({bad(std::to_string(i))});
  EXPECT_EQ(said.size(), 11u);
  EXPECT_EQ(said.back(), "further bad images of this rank are only counted");
}

TEST(SkippedImages, RendersAsPartOfALine) {
  EXPECT_EQ(render_skipped(0), "");
  EXPECT_EQ(render_skipped(1), ", 1 bad image skipped");
  EXPECT_EQ(render_skipped(30), ", 30 bad images skipped");
}

}  // namespace
}  // namespace dllaunch
