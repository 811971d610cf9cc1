#include "launcher/staging/stage_parcel.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(StageParcel, TheChecksumIsXxh3Of128Bits) {
  const TemporaryFolder folder;
  const auto path = folder.path() + "/a";
  std::ofstream(path).flush();
  EXPECT_EQ(*file_checksum(path), "99aa06d3014798d86001c324468d497f");  // of nothing: xxhsum -H2
  std::ofstream(path) << "abc";
  const auto before = *file_checksum(path);
  std::ofstream(path) << "abd";
  EXPECT_NE(*file_checksum(path), before);
  EXPECT_FALSE(file_checksum(folder.path() + "/absent"));
  EXPECT_FALSE(file_checksum(folder.path())) << "a directory";
}

TEST(StageParcel, AWordComesBack) {
  const Parcel sent{"source-a=b c", "99aa06d3014798d86001c324468d497f"};
  const auto read = parcel_of(word_of(sent));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, sent.name);
  EXPECT_EQ(read->checksum, sent.checksum);
}

TEST(StageParcel, WhatIsNoneIsRefused) {
  const std::string checksum = "99aa06d3014798d86001c324468d497f";
  for (const auto& word : {std::string(), checksum, "=" + checksum, "../a=" + checksum,
                           "a=" + checksum + "0", std::string("a=b"), "a=" + checksum.substr(1)})
    EXPECT_FALSE(parcel_of(word)) << word;
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string word = "data=" + checksum;
    for (int n = 0; n < 3; ++n) word[random() % word.size()] = static_cast<char>(random() % 256);
    const auto read = parcel_of(word);
    if (!read) continue;
    EXPECT_EQ(word_of(*read), word);
    EXPECT_EQ(read->name.find('/'), std::string::npos);
  }
}

}  // namespace
}  // namespace dllaunch
