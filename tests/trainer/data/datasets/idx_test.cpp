#include "trainer/data/datasets/idx.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"

namespace dllaunch {
namespace {

const std::string two_images = idx_bytes({2, 2, 3}, "abcdefghijkl");

TEST(Idx, ReadsExtentsAndValues) {
  for (const auto& content : {two_images, packed(two_images)}) {
    auto array = read_idx(as_content(content), 3);
    ASSERT_TRUE(array) << array.error().what;
    EXPECT_EQ(array->extents, (std::vector<std::uint32_t>{2, 2, 3}));
    EXPECT_EQ(std::string(array->values.begin(), array->values.end()), "abcdefghijkl");
  }
}

struct Damage {
  const char* name;
  std::string content;
  std::string what;
};

std::string with_byte(std::string content, std::size_t at, char byte) {
  content[at] = byte;
  return content;
}

TEST(Idx, ReportsErrors) {
  const std::vector<Damage> cases = {
      {"empty", "", "truncated: 4 bytes of the header are missing"},
      {"no IDX", "\x89PNG\r\n\x1a\n", "wrong magic number 0x89504e47: not an IDX file"},
      {"floats", with_byte(two_images, 2, '\x0d'),
       "elements are 32-bit floats, not unsigned bytes"},
      {"unknown", with_byte(two_images, 2, '\x77'),
       "elements are the unknown type 0x77, not unsigned bytes"},
      {"labels", with_byte(two_images, 3, '\x01'),
       "wrong magic number: 1 dimensions, expected 3 (images)"},
      {"cut header", two_images.substr(0, 9), "truncated: 3 bytes of the header are missing"},
      {"cut data", packed(two_images.substr(0, 20)), "truncated: 8 bytes of data are missing"},
      {"cut plain data", two_images.substr(0, 20), "truncated: 8 bytes of data are missing"},
      {"trailing", two_images + "!", "bytes follow the end of the data"},
      {"absurd", idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, "x"),
       "truncated: the header claims more than the 17 bytes of the file can hold"},
  };
  for (const auto& damage : cases) {
    auto array = read_idx(as_content(damage.content), 3);
    ASSERT_FALSE(array) << damage.name;
    EXPECT_EQ(array.error().what, damage.what) << damage.name;
    EXPECT_EQ(array.error().kind, ErrorKind::bad_request);
  }
}

TEST(Idx, ACompressedHeaderCannotForceALargeAllocation) {
  // 1 GiB is possible for deflate and this many bytes, but the file holds far less.
  std::string liar = packed(idx_bytes({1024, 1024, 1024}, std::string(1 << 20, 'x')));
  liar += std::string((1 << 20) + 100 - liar.size() % 2, '\0');
  auto array = read_idx(as_content(liar), 3);
  ASSERT_FALSE(array);
}

TEST(Idx, SurvivesDamage) {
  const std::string content = idx_bytes({5, 4, 4}, std::string(80, 'p'));
  const std::string small = packed(content);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    for (const auto& whole : {content, small}) {
      const std::string damaged = mutated(whole, seed);
      auto array = read_idx(as_content(damaged), 3);
      if (!array) continue;
      std::size_t elements = 1;
      for (const auto extent : array->extents) elements *= extent;
      EXPECT_EQ(array->values.size(), elements);
    }
  }
}

}  // namespace
}  // namespace dllaunch
