#include "runtime/communicators/mpi/segment_names.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

constexpr const char* maps =
    "7f7ac8000000-7f7ac8400000 rw-s 00000000 00:19 12  /dev/shm/vader_segment.n1.0.310e0001.0\n"
    "7f7ac8400000-7f7ac8401000 rw-s 00400000 00:19 12  /dev/shm/vader_segment.n1.0.310e0001.0\n"
    "7f7ac9000000-7f7ac9400000 rw-s 00000000 00:19 13  /dev/shm/vader_segment.n1.0.310e0001.1\n"
    "7f7aca000000-7f7aca400000 rw-s 00000000 00:19 14  /dev/shm/vader_segment.n1.0.1.2 (deleted)\n"
    "7f7acb000000-7f7acb400000 rw-s 00000000 00:19 15  /my tmp/sm_segment.n1.1000.1.0\n"
    "7f7acc000000-7f7acc400000 r-xp 00000000 08:01 16  /usr/lib/libmpi.so\n"
    "7f7acd000000-7f7acd400000 rw-p 00000000 00:00 0   [heap]\n"
    "7f7ace000000-7f7ace400000 rw-p 00000000 00:00 0";

TEST(SegmentNames, AreThoseOfOpenMpisTransport) {
  EXPECT_EQ(mapped_segments(maps), (std::vector<std::string>{
                                       "/dev/shm/vader_segment.n1.0.310e0001.0",
                                       "/dev/shm/vader_segment.n1.0.310e0001.1",
                                       "/my tmp/sm_segment.n1.1000.1.0",
                                   }));
  EXPECT_TRUE(mapped_segments("").empty());
}

TEST(SegmentNames, FindNothingElseInDamagedText) {
  std::mt19937 random(9);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = maps;
    for (int hits = 0; hits < 6; ++hits) text[random() % text.size()] = static_cast<char>(random());
    for (const auto& path : mapped_segments(text)) {
      EXPECT_EQ(path[0], '/');
      EXPECT_NE(path.find("_segment."), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace dllaunch
