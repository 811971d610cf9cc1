#include "trainer/data/codecs/gzip.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"

namespace dllaunch {
namespace {

/// Returns everything the reader returns, read in pieces of `piece` bytes.
Result<std::string> read_through(const std::string& content, std::size_t piece) {
  ByteReader reader(as_content(content));
  std::string all;
  while (true) {
    std::vector<std::uint8_t> out(piece);
    auto count = reader.read(out);
    if (!count) return std::move(count).error();
    all.append(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*count));
    if (*count < piece) break;
  }
  if (auto end = reader.expect_end(); !end) return std::move(end).error();
  return all;
}

const std::string text = [] {
  std::string long_text;
  for (int i = 0; i < 5000; ++i) long_text += std::to_string(i * i);
  return long_text;
}();

TEST(Gzip, ReadsPlainAndCompressedContentInPiecesOfAnySize) {
  for (const std::size_t piece : {1, 7, 1000, 100000}) {
    EXPECT_EQ(*read_through(text, piece), text);
    EXPECT_EQ(*read_through(packed(text), piece), text);
    EXPECT_EQ(*read_through(packed(text) + packed("more"), piece), text + "more");
  }
}

TEST(Gzip, ReportsTruncatedData) {
  const std::string whole = packed(text);
  for (const std::size_t kept : {std::size_t{5}, whole.size() / 2, whole.size() - 1}) {
    auto read = read_through(whole.substr(0, kept), 1000);
    ASSERT_FALSE(read) << kept;
    EXPECT_EQ(read.error().what, "gzip data truncated");
  }
}

TEST(Gzip, ReportsDamagedData) {
  std::string wrong_check = packed(text);
  wrong_check[wrong_check.size() - 8] ^= 1;  // CRC-32, then the length
  auto read = read_through(wrong_check, 1000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, "gzip data damaged: incorrect data check");
}

TEST(Gzip, ReportsTrailingBytes) {
  auto read = read_through(packed(text) + "x", 1000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, "bytes follow the end of the data");
}

TEST(Gzip, BoundsTheInflatedSize) {
  const std::string zeros(1 << 20, '\0');
  const std::string small = packed(zeros);
  EXPECT_GE(ByteReader(as_content(small)).most_bytes(), zeros.size());
  EXPECT_EQ(ByteReader(as_content(text)).most_bytes(), text.size());
}

TEST(Gzip, SurvivesDamage) {
  const std::string whole = packed(text);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    auto read = read_through(mutated(whole, seed), 4096);
    if (!read) {
      EXPECT_FALSE(read.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace dllaunch
