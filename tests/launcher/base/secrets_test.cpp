#include "launcher/base/secrets.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name :
       {"WANDB_API_KEY", "HF_TOKEN", "hfToken", "HFTOKEN", "AWS_SECRET_ACCESS_KEY", "password",
        "DBPASSWORD", "db-passwd", "DB_PASS", "MY_CREDENTIALS", "github.auth", "GITHUB_PAT",
        "Authorization", "--api-key", "APIKEY"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"keyboard", "MONKEY", "tokenizer", "OMP_NUM_THREADS", "authors", "",
                           "lr", "PATH", "bypass", "patience"})
    EXPECT_FALSE(is_secret_name(name)) << name;
}

TEST(Secrets, LeaveTheTextWithoutTheirValues) {
  const struct {
    const char* text;
    const char* kept;
  } cases[] = {
      {"WANDB_API_KEY: abc\nx: 1\n", "WANDB_API_KEY: (left out)\nx: 1\n"},
      {"HF_TOKEN: \"a b: c\"\n", "HF_TOKEN: (left out)\n"},
      {"a: {TOKEN: abc, b: 2}", "a: {TOKEN: (left out)"},
      {"run: HF_TOKEN=abc python train.py", "run: HF_TOKEN= (left out)"},
      {"run: [python, --api-key, abc]\nx: 1", "run: [python, --api-key (left out)\nx: 1"},
      {"run: python --api-key abc --lr 1", "run: python --api-key (left out)"},
      {"run: python --api-key=abc", "run: python --api-key= (left out)"},
      {"'my token': abc", "'my token (left out)"},
      {"a:\n  password: |\n    one\n    two\n  b: 1\n", "a:\n  password: (left out)\n  b: 1\n"},
      {"tokens:\n- one\n- two\nb: 1\n", "tokens: (left out)\nb: 1\n"},
      {"run:\n- --api-key\n- abc\nb: 1\n", "run:\n- --api-key (left out)\nb: 1\n"},
      {R"(setup: "export HF_TOKEN=\"a\"\nmodule load x\n")",
       R"(setup: "export HF_TOKEN= (left out)\nmodule load x\n")"},
      {"url: postgres://u:abc@h/db", "url: postgres://(left out)@h/db"},
      {"url: postgres://u:ab/c@h/db", "url: postgres://(left out)@h/db"},
      {"pip: git+https://ghp_abc@github.com/o/r", "pip: git+https://(left out)@github.com/o/r"},
      {"ssh://git@github.com/o/r", "ssh://git@github.com/o/r"},
      {R"(PRIVATE_KEY: "BEGIN\nMIIE\nEND")"
       "\nx: 1",
       "PRIVATE_KEY: (left out)\nx: 1"},
      {R"(PASSWORD: 'ab\nleak')"
       "\nx: 1",
       "PASSWORD: (left out)\nx: 1"},
      {R"("PRIVATE_KEY": "a\"b\nc")", R"("PRIVATE_KEY (left out))"},
      {"https://host/a@b", "https://host/a@b"},
      {"tokenizer: bert", "tokenizer: bert"},
      {"monkey: 1\nbatch: 2\n", "monkey: 1\nbatch: 2\n"},
      {"token", "token"},
      {"a token of thanks", "a token of thanks"},
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
    const char* const name = i % 2 == 0 ? "HF_TOKEN: " : "export HF_TOKEN=";
    const auto text = any() + "\n" + name + any() + "q7q7q7\n" + any();
    if (text.find('\n', text.find(name)) < text.find("q7q7q7")) continue;
    const auto kept = without_secrets(text);
    EXPECT_EQ(kept.find("q7q7q7"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace dllaunch
