#include "trainer/data/datasets/token_shard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tier.hpp"
#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/token_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

Result<TokenLayout> layout(const std::string& file) {
  return token_layout(as_file(file.substr(0, token_header_bytes)), file.size());
}

std::string problem(const std::string& file) {
  auto found = layout(file);
  return found ? "" : found.error().what;
}

TEST(TokenShard, KnowsBothKindsOfFiles) {
  auto with = layout(with_token_header(token_ids(300)));
  ASSERT_TRUE(with) << with.error().what;
  EXPECT_EQ(with->begin, 1024u);
  EXPECT_EQ(with->tokens, 300);
  for (const int tokens : {1, 2, 511, 512, 513, 3000}) {
    auto without = layout(token_ids(tokens, 5));
    ASSERT_TRUE(without) << without.error().what;
    EXPECT_EQ(without->begin, 0u);
    EXPECT_EQ(without->tokens, tokens);
  }
  EXPECT_EQ(layout(with_token_header(""))->tokens, 0);
}

TEST(TokenShard, RefusesBadFilesWithTheOffset) {
  const std::string whole = with_token_header(token_ids(300));
  EXPECT_EQ(problem(""), "empty");
  EXPECT_EQ(problem("x"), "ends within a token, at offset 0");
  EXPECT_EQ(problem(token_ids(700) + "x"), "ends within a token, at offset 1400");
  EXPECT_EQ(problem(whole + "x"),
            "goes on at offset 1624: by the header's 300 tokens (offset 8) it has 1624 bytes");
  EXPECT_EQ(problem(whole.substr(0, 1500)),
            "truncated at offset 1500: by the header's 300 tokens (offset 8) it has 1624 bytes");
  EXPECT_EQ(problem(whole.substr(0, 700)),
            "truncated at offset 700, within the header of 1024 bytes");
  EXPECT_EQ(problem(with_token_header(token_ids(300), 20240801, 7)),
            "the header's magic at offset 0 is 20240801, not 20240520");
  EXPECT_EQ(problem(with_token_header(token_ids(300), 20240520, 2)),
            "the header's version at offset 4 is 2, not 1");
}

TEST(TokenShard, ReadsAndChecksIds) {
  const ScratchFolder folder;
  for (const bool header : {false, true}) {
    const auto file = folder / (header ? "with.bin" : "without.bin");
    const std::string ids = token_ids(600'000, 7, 1, 1000);  // more than one piece of a check
    write_text(file, header ? with_token_header(ids) : ids);
    auto shard = TokenShard::open(file);
    ASSERT_TRUE(shard) << shard.error().what;
    EXPECT_EQ(shard->tokens(), 600'000);
    std::vector<std::uint16_t> some(3);
    ASSERT_TRUE(shard->read(599'997, some));
    EXPECT_EQ(some, (std::vector<std::uint16_t>{4, 5, 6}));
    EXPECT_FALSE(shard->read(599'998, some)) << "beyond the end";
    EXPECT_TRUE(shard->check_ids(0, 600'000, 1000));
    EXPECT_TRUE(shard->check_ids(100, 100, 1));
    auto checked = shard->check_ids(0, 600'000, 999);
    ASSERT_FALSE(checked);
    const int offset = (header ? 1024 : 0) + 2 * 992;
    EXPECT_EQ(checked.error().what, file.string() + ": token 999 at offset " +
                                        std::to_string(offset) +
                                        " is not below the vocabulary of 999");
    EXPECT_TRUE(shard->check_ids(993, 1900, 999)) << "between two of them";
    EXPECT_FALSE(shard->check_ids(599'900, 600'000, 6));
  }
  auto missing = TokenShard::open(folder / "none.bin");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::bad_request);
}

TEST(TokenShard, DamageIsRefusedOrLeavesALayoutWithinTheFile) {
  const std::string whole = with_token_header(token_ids(300));
  for (int seed = 0; seed < rounds_here(20'000); ++seed) {
    const std::string file = mutated(whole, static_cast<std::uint64_t>(seed));
    const auto found = layout(file);
    if (!found) {
      EXPECT_FALSE(found.error().what.empty()) << seed;
      continue;
    }
    EXPECT_GT(found->tokens, -1) << seed;
    EXPECT_EQ(found->begin + 2 * static_cast<std::uint64_t>(found->tokens), file.size()) << seed;
  }
}

}  // namespace
}  // namespace dllaunch
