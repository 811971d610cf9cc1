#include "trainer/data/datasets/npy_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<NpyHeader> parsed(const std::string& bytes) {
  return parse_npy_header(as_file(bytes));
}

TEST(NpyHeader, ReadsWhatNumpyWrites) {
  auto header = parsed(npy_bytes(npy_header_text("<f4", "(60000, 28, 28)"), ""));
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->kind, 'f');
  EXPECT_EQ(header->item_bytes, 4u);
  EXPECT_EQ(header->shape, (std::vector<std::uint64_t>{60000, 28, 28}));
  EXPECT_EQ(header->data_begin % 64, 0u);
  EXPECT_EQ(parsed(npy_bytes(npy_header_text("|u1", "(7,)"), ""))->shape.size(), 1u);
  EXPECT_TRUE(parsed(npy_bytes(npy_header_text("|u1", "()"), ""))->shape.empty());
  const auto other_order =
      parsed(npy_bytes("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<i8\"}", ""));
  ASSERT_TRUE(other_order);
  EXPECT_EQ(other_order->kind, 'i');
}

TEST(NpyHeader, ReadsTheLongHeadersOfVersionTwo) {
  const std::string text = npy_header_text("|u1", "(3,)") + std::string(5000, ' ');
  std::string bytes = "\x93NUMPY";
  bytes +=
      {'\x02', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8),
       '\x00', '\x00'};
  auto header = parsed(bytes + text);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->data_begin, bytes.size() + text.size());
}

TEST(NpyHeader, ReportsErrors) {
  const auto what = [](const std::string& bytes) {
    auto header = parsed(bytes);
    return header ? "" : header.error().what;
  };
  EXPECT_EQ(what(""), "is not a .npy file");
  EXPECT_EQ(what("hello, world: not numpy"), "is not a .npy file");
  EXPECT_EQ(what(npy_bytes(npy_header_text("|u1", "(7,)"), "").substr(0, 60)),
            "truncated: ends within the .npy header");
  EXPECT_EQ(what(npy_bytes("{'descr': '|u1'}", "")), "damaged .npy header");
  EXPECT_EQ(what(npy_bytes(npy_header_text("|u1", "(-7,)"), "")), "damaged .npy header");
  EXPECT_EQ(what(npy_bytes(npy_header_text("|u1", "(99999999999999999999,)"), "")),
            "damaged .npy header");
  EXPECT_EQ(what(npy_bytes(npy_header_text("|u1", "(7,)", "True"), "")), "is in Fortran order");
  EXPECT_EQ(what(npy_bytes(npy_header_text(">f4", "(7,)"), "")), "type >f4 is big-endian");
  EXPECT_EQ(what(npy_bytes(npy_header_text("<U5", "(7,)"), "")), "type <U5 is not supported");
  EXPECT_EQ(what(npy_bytes(npy_header_text("|O", "(7,)"), "")), "type |O is not supported");
}

TEST(NpyHeader, TheFileLengthMustMatchTheHeader) {
  const ScratchFolder folder;
  const auto error = [&](const std::string& shape, const std::string& data) {
    write_text(folder / "a.npy", npy_bytes(npy_header_text("<i4", shape), data));
    auto opened = open_npy(folder / "a.npy");
    return opened ? "" : opened.error().what;
  };
  EXPECT_EQ(error("(3,)", std::string(12, 'x')), "");
  EXPECT_EQ(error("(0, 5)", ""), "");
  EXPECT_THAT(error("(3,)", std::string(11, 'x')),
              HasSubstr("a.npy: has 11 bytes of data, its header says 12"));
  EXPECT_THAT(error("(3,)", std::string(13, 'x')), HasSubstr("its header says 12"));
  // 2^32 x 2^31 x 4 bytes would be 0 modulo 2^64.
  EXPECT_THAT(error("(4294967296, 2147483648)", ""), HasSubstr("its header says more"));
}

TEST(NpyHeader, SurvivesDamage) {
  const std::string sound = npy_bytes(npy_header_text("<f4", "(600, 28, 28)"), "some data");
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    auto header = parsed(mutated(sound, seed));
    if (!header) {
      EXPECT_FALSE(header.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace dllaunch
