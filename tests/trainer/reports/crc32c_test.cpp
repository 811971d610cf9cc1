#include "trainer/reports/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dllaunch {
namespace {

/// RFC 3720, B.4.
TEST(Crc32c, MatchesTheExamplesOfTheStandard) {
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  const std::string falling(rising.rbegin(), rising.rend());
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
  EXPECT_EQ(crc32c(falling), 0x113fdb5cU);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, IsMaskedAsTfRecordDoes) {
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8U);
  // ((crc >> 15) | (crc << 17)) + 0xa282ead8, modulo 2^32.
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5U);
}

}  // namespace
}  // namespace dllaunch
