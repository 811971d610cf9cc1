#include "launcher/report/secrets.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name :
       {"WANDB_API_KEY", "HF_TOKEN", "hfToken", "AWS_SECRET_ACCESS_KEY", "password", "db-passwd",
        "MY_CREDENTIALS", "github.auth", "--api-key", "APIKEY"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name :
       {"keyboard", "MONKEY", "tokenizer", "OMP_NUM_THREADS", "authors", "", "lr", "PATH"})
    EXPECT_FALSE(is_secret_name(name)) << name;
}

TEST(Secrets, LeaveTheTextWithoutTheirValues) {
  const struct {
    const char* text;
    const char* kept;
  } cases[] = {
      {"WANDB_API_KEY: abc\nx: 1\n", "WANDB_API_KEY: (left out)\nx: 1\n"},
      {"HF_TOKEN: \"a b: c\"\n", "HF_TOKEN: (left out)\n"},
      {"a: {TOKEN: abc, b: 2}", "a: {TOKEN: (left out), b: 2}"},
      {"run: HF_TOKEN=abc python train.py", "run: HF_TOKEN=(left out) python train.py"},
      {"run: [python, --api-key, abc]", "run: [python, --api-key, (left out)]"},
      {"run: python --api-key abc --lr 1", "run: python --api-key (left out) --lr 1"},
      {"run: python --api-key=abc", "run: python --api-key=(left out)"},
      {"'my token': abc", "'my token': (left out)"},
      {"a:\n  password: |\n    one\n    two\n  b: 1\n", "a:\n  password: (left out)\n  b: 1\n"},
      {"- TOKEN: >-\n    one\n- b\n", "- TOKEN: (left out)\n- b\n"},
      {"tokenizer: bert", "tokenizer: bert"},
      {"token", "token"},
      {"token:", "token:"},
  };
  for (const auto& [text, kept] : cases) EXPECT_EQ(without_secrets(text), kept);
}

/// Whatever stands around it, the value is gone, and the rest of the lines stays.
TEST(Secrets, AreGoneFromAnyText) {
  std::mt19937 random(11);
  const std::string characters = "ab \t\n:=,'\"[]{}|>-#\\";
  for (int i = 0; i < 20'000; ++i) {
    const auto any = [&] {
      std::string text;
      for (auto n = random() % 12; n > 0; --n) text += characters[random() % characters.size()];
      return text;
    };
    const auto text = any() + "\nHF_TOKEN: q7q7q7\n" + any();
    const auto kept = without_secrets(text);
    EXPECT_LE(kept.size(), text.size() + 10 * 12);
    EXPECT_EQ(kept.find("q7q7q7"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace dllaunch
