#include "support/network/proof.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dllaunch {
namespace {

std::string without_end(std::string line) {
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

TEST(Proof, WhoKnowsTheSecretIsBelieved) {
  const auto secret = new_secret();
  const auto line = seal(secret, "answer", "n1", R"({"rank":1})");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find(secret), std::string::npos) << "it is not shown";
  EXPECT_EQ(unseal(secret, "answer", "n1", without_end(line)), R"({"rank":1})");
  EXPECT_EQ(body_of(without_end(line)), R"({"rank":1})");
  EXPECT_EQ(unseal(secret, "answer", "", without_end(seal(secret, "answer", "", ""))), "");
}

TEST(Proof, ForAnotherSecretPurposeOrQuestionItProvesNothing) {
  const auto secret = new_secret();
  const auto line = without_end(seal(secret, "answer", "n1", "here"));
  EXPECT_FALSE(unseal(new_secret(), "answer", "n1", line));
  EXPECT_FALSE(unseal(secret, "question", "n1", line));
  EXPECT_FALSE(unseal(secret, "answer", "n2", line));
  EXPECT_FALSE(unseal(secret, "answer", "", line));
  // What is moved from one part to the next is another text.
  EXPECT_FALSE(unseal(secret, "answern", "1", line));
  EXPECT_FALSE(unseal("", "answer", "n1", without_end(seal("", "answer", "n1", "here"))))
      << "everybody knows an empty secret";
}

TEST(Proof, EveryChangedCharacterIsSeen) {
  const auto secret = new_secret();
  const auto line = without_end(seal(secret, "answer", "n1", R"({"address":"n1"})"));
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (const int bit : {1, 32, 128}) {
      auto changed = line;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      EXPECT_FALSE(unseal(secret, "answer", "n1", changed)) << i;
    }
    EXPECT_FALSE(unseal(secret, "answer", "n1", line.substr(0, i))) << i;
  }
  EXPECT_FALSE(unseal(secret, "answer", "n1", line + "x"));
}

TEST(Proof, AnyBytesAreReadAndNoneBelieved) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 200, '\0');
    for (char& c : text) c = static_cast<char>(random());
    if (text.size() > 64 && round % 2 == 0) text[64] = ' ';
    EXPECT_FALSE(unseal("secret", "question", "", text));
    EXPECT_LE(body_of(text).size(), text.size());
  }
}

TEST(Proof, EveryStartHasASecretOfItsOwn) {
  std::set<std::string> secrets;
  for (const char* lasting : {"a", "0123456789abcdef", "b"})
    for (const char* start : {"slurm-1.0-r0", "slurm-1.0-r1"})
      secrets.insert(secret_of(lasting, start));
  secrets.insert(secret_of(std::string(1000, 'x'), "slurm-1.0-r0"));
  EXPECT_EQ(secrets.size(), 7u);
  for (const auto& secret : secrets) EXPECT_EQ(secret.size(), 64u);
  EXPECT_EQ(secret_of("a", "s"), secret_of("a", "s"));
  EXPECT_NE(new_secret(), new_secret());
  EXPECT_EQ(new_secret().size(), 64u);
  EXPECT_NE(new_nonce(), new_nonce());
  EXPECT_EQ(new_nonce().size(), 32u);
}

}  // namespace
}  // namespace dllaunch
