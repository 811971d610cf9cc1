#include "trainer/integrity/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "trainer/integrity/comparing.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Digest sound{1, 2, 3};
constexpr Digest other{1, 9, 3};
constexpr Digest third{7, 2, 3};

TEST(ReplicaVerdict, EqualIsAgreed) {
  const ReplicaVerdict verdict = judge(std::vector<Digest>(5, sound), 1);
  EXPECT_TRUE(verdict.agreed);
  EXPECT_THAT(verdict.wrong, IsEmpty());
  EXPECT_EQ(words_of(verdict), "");
  EXPECT_TRUE(judge({}, 1).agreed);
}

TEST(ReplicaVerdict, TheMajorityIsRight) {
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::vector<Digest> digests(3, sound);
    digests[rank] = other;
    const ReplicaVerdict verdict = judge(digests, 1);
    EXPECT_FALSE(verdict.agreed);
    EXPECT_THAT(verdict.wrong, ElementsAre(static_cast<int>(rank)));
    EXPECT_EQ(words_of(verdict), "optimizer state");
  }
}

/// Where ranks differ among each other, the cause is none of a few of them.
TEST(ReplicaVerdict, MoreThanHalfAreTheMajority) {
  const ReplicaVerdict verdict = judge(std::vector{other, sound, third, sound, sound}, 1);
  EXPECT_THAT(verdict.wrong, ElementsAre(0, 2));
  EXPECT_EQ(words_of(verdict), "weights and optimizer state");
  EXPECT_THAT(judge(std::vector{other, sound, third, sound}, 1).wrong, IsEmpty());
  EXPECT_THAT(judge(std::vector{sound, sound, sound, other, other}, 1).wrong, ElementsAre(3, 4))
      << "those of one node may share what it received";
}

TEST(ReplicaVerdict, ATieHasNoMajority) {
  for (const auto& digests : std::vector<std::vector<Digest>>{
           {sound, other}, {sound, sound, other, other}, {sound, other, third}}) {
    const ReplicaVerdict verdict = judge(digests, 1);
    EXPECT_FALSE(verdict.agreed);
    EXPECT_THAT(verdict.wrong, IsEmpty());
    EXPECT_EQ(verdict.apart.size(), digests.size());
  }
}

/// Stages hold different parameters, and are compared each with its own replicas.
TEST(ReplicaVerdict, EachStageIsJudgedByItself) {
  std::vector<Digest> digests(3, sound);
  digests.insert(digests.end(), 3, third);
  EXPECT_TRUE(judge(digests, 2).agreed);
  digests[4] = sound;
  const ReplicaVerdict verdict = judge(digests, 2);
  EXPECT_THAT(verdict.wrong, ElementsAre(4));
  EXPECT_THAT(verdict.apart, ElementsAre(3, 4, 5));
  EXPECT_EQ(words_of(verdict), "weights");
}

Suspicion two_ranks() {
  return {.since = 10,
          .step = 12,
          .hosts = {"n1", "n2"},
          .digests = {sound, other},
          .prints = {{1, 2}, {1, 3}}};
}

TEST(Recomputed, WhoDeviatesFirstIsTheOne) {
  EXPECT_THAT(judge_again(two_ranks(), std::vector<std::int64_t>{12, 11}, {}, 1), ElementsAre(1));
  EXPECT_THAT(judge_again(two_ranks(), std::vector<std::int64_t>{12, 0}, {}, 1), ElementsAre(0));
  EXPECT_THAT(
      judge_again(two_ranks(), std::vector<std::int64_t>{11, 11}, std::vector{third, third}, 1),
      IsEmpty())
      << "neither can be told from the other";
}

/// A bit that flips after the last gradients were computed.
TEST(Recomputed, WithoutADeviationTheNumbersTell) {
  const std::vector<std::int64_t> none{0, 0};
  EXPECT_THAT(judge_again(two_ranks(), none, std::vector{sound, sound}, 1), ElementsAre(1));
  EXPECT_THAT(judge_again(two_ranks(), none, std::vector{other, other}, 1), ElementsAre(0));
  EXPECT_THAT(judge_again(two_ranks(), none, std::vector{third, third}, 1), IsEmpty());
  EXPECT_THAT(judge_again(two_ranks(), none, {}, 1), IsEmpty()) << "not so far yet";
}

/// What a stage sends to the next makes the same replica of that one deviate too.
TEST(Recomputed, OnlyRanksThatDisagreedCount) {
  Suspicion staged = two_ranks();
  staged.digests = {sound, other, third, third};
  staged.hosts = {"n1", "n2", "n3", "n4"};
  EXPECT_THAT(judge_again(staged, std::vector<std::int64_t>{0, 11, 0, 11}, {}, 2), ElementsAre(1));
}

TEST(SuspicionFile, IsReadAsItWasWritten) {
  const auto read = read_suspicion(text_of(two_ranks()));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->since, 10);
  EXPECT_EQ(read->step, 12);
  EXPECT_EQ(read->hosts, two_ranks().hosts);
  EXPECT_EQ(read->digests, two_ranks().digests);
  EXPECT_EQ(read->prints, two_ranks().prints);
  Suspicion large = two_ranks();
  large.prints[0][0] = ~std::uint64_t{0};
  EXPECT_EQ(read_suspicion(text_of(large))->prints, large.prints);
}

TEST(SuspicionFile, IsBoundedAndReadAtItsBound) {
  Suspicion large = two_ranks();
  const auto steps = most_printed_steps(large.hosts.size());
  large.step = large.since + static_cast<std::int64_t>(steps);
  for (auto& prints : large.prints) prints.assign(steps, ~std::uint64_t{0});
  const auto text = text_of(large);
  EXPECT_LT(text.size(), std::size_t{2} << 20);
  ASSERT_TRUE(read_suspicion(text));
  EXPECT_FALSE(read_suspicion(text + std::string(most_suspicion_bytes, ' ')));
}

TEST(SuspicionFile, DamagedTextsAreRefusedOrSound) {
  std::mt19937 random(1);
  const std::string text = text_of(two_ranks());
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text.substr(0, random() % 8 == 0 ? random() % text.size() : text.size());
    for (unsigned changes = random() % 4; changes > 0 && !damaged.empty(); --changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    const auto read = read_suspicion(damaged);
    if (!read) continue;
    EXPECT_GT(read->step, read->since) << damaged;
    EXPECT_EQ(read->prints.size(), read->hosts.size()) << damaged;
    EXPECT_EQ(read->digests.size(), read->hosts.size()) << damaged;
    for (const auto& prints : read->prints)
      EXPECT_EQ(std::ssize(prints), read->step - read->since) << damaged;
  }
  EXPECT_FALSE(read_suspicion(""));
  EXPECT_FALSE(read_suspicion("[]"));
  EXPECT_FALSE(
      read_suspicion(R"({"since":0,"step":9223372036854775807,"hosts":["a"],)"
                     R"("digests":[{"weights":1,"states":1,"gradients":1}],"prints":[[]]})"));
}

}  // namespace
}  // namespace dllaunch
