// Whole trainings on tokens: what is learnt, reported, resumed and refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/data/datasets/token_bytes.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// gpt2-tiny on 48 sequences of 16 tokens of 40 ids: 6 steps an epoch.
class TokenTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (find_model("gpt2-tiny") == nullptr) GTEST_SKIP() << "no model gpt2-tiny in this build";
    config_ = small_config("reference");
    config_.model = "gpt2-tiny";
    config_.data = {};
    config_.data.images = 48;
    config_.data.classes = 40;
    config_.data.sequence = 16;
    config_.batch_size = 8;
    config_.epochs = 3;
    config_.optimizer = "adamw";
    config_.optimizer_options = {.lr = 0.003, .weight_decay = 0.1, .betas = {0.9, 0.95}};
    config_.clip_norm = 1;
    config_.decay_vectors = false;
    config_.average = {.decay = 0.5, .validate = true};
  }

  std::string failure() {
    auto trained = train_alone(config_, folder_ / "run");
    if (!trained) return trained.error().what;
    return trained->report.error ? trained->report.error->what : "";
  }

  void write_shards() {
    for (int shard = 1; shard <= 3; ++shard) {
      const std::string ids = token_ids(257, shard, 7, 40);
      write_text(folder_ / "data" / ("x_train_" + std::to_string(shard) + ".bin"),
                 shard == 1 ? ids : with_token_header(ids));
    }
    write_text(folder_ / "data/x_val_0.bin", with_token_header(token_ids(100, 0, 7, 40)));
    config_.dataset = "tokens";
    config_.data.images.reset();
    config_.data.path = (folder_ / "data").string();
  }

  ScratchFolder folder_;
  TrainConfig config_;
};

TEST_F(TokenTraining, LearnsAndReportsPerplexityAndTokens) {
  write_shards();
  auto trained = train_alone(config_, folder_ / "run");
  ASSERT_TRUE(trained) << trained.error().what;
  ASSERT_EQ(trained->losses.size(), 18u);
  EXPECT_NEAR(trained->losses[0], std::log(40), 0.5);
  EXPECT_LT(trained->losses.back(), 0.9 * trained->losses.front());
  const auto epochs = events_of(folder_ / "run", "epoch");
  ASSERT_EQ(epochs.size(), 3u);
  for (const Json& epoch : epochs) {
    const auto number = [&](const char* name) { return epoch.at(name).get<double>(); };
    EXPECT_DOUBLE_EQ(number("perplexity"), std::exp(number("loss")));
    EXPECT_DOUBLE_EQ(number("val_perplexity"), std::exp(number("val_loss")));
    EXPECT_DOUBLE_EQ(number("tokens_per_s"), 16 * number("images_per_s"));
    EXPECT_LE(number("accuracy"), 1);
    EXPECT_LE(number("val_accuracy"), 1);
  }
  EXPECT_LT(epochs[2].at("val_perplexity").get<double>(),
            epochs[0].at("val_perplexity").get<double>());
  for (const Json& step : events_of(folder_ / "run", "step")) {
    EXPECT_DOUBLE_EQ(step.at("tokens_per_s").get<double>(),
                     16 * step.at("images_per_s").get<double>());
  }
  EXPECT_THAT(trained->said, Contains(HasSubstr("48 sequences of 16 tokens, 6 for validation")));
  EXPECT_THAT(trained->said, Contains(HasSubstr(" tokens/s")));
  EXPECT_THAT(read_text(folder_ / "run/metrics.csv"),
              HasSubstr("images_per_s,tokens_per_s,perplexity,val_perplexity\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/classes.csv"));
}

TEST_F(TokenTraining, ResumesWithinAnEpochBitForBit) {
  write_shards();
  auto whole = train_alone(config_, folder_ / "whole");
  ASSERT_TRUE(whole) << whole.error().what;
  auto first = train_alone(config_, folder_ / "parts", 8);
  ASSERT_TRUE(first) << first.error().what;
  auto second = train_alone(config_, folder_ / "parts");
  ASSERT_TRUE(second) << second.error().what;
  first->losses.insert(first->losses.end(), second->losses.begin(), second->losses.end());
  EXPECT_EQ(first->losses, whole->losses);
  EXPECT_EQ(weights_at(folder_ / "parts", "step-00000018"),
            weights_at(folder_ / "whole", "step-00000018"));
}

/// A restart takes no time for what the first start has read.
TEST_F(TokenTraining, ARunThatGoesOnChecksOnlyWhatItReads) {
  write_shards();
  const auto add_to_validation = [this](std::string more) {
    write_text(folder_ / "data/x_val_0.bin", token_ids(100, 0, 7, 40) + std::move(more));
  };
  add_to_validation("");
  ASSERT_TRUE(train_alone(config_, folder_ / "run", 8));
  add_to_validation(std::string(2, '\xFF'));  // beyond the last whole sample
  EXPECT_EQ(failure(), "");
  std::filesystem::remove_all(folder_ / "run");
  EXPECT_THAT(failure(), HasSubstr("x_val_0.bin: token 65535 at offset 200 is not below"));
}

TEST_F(TokenTraining, SyntheticTokensAreLearnt) {
  config_.epochs = 6;
  auto trained = train_alone(config_, folder_ / "run");
  ASSERT_TRUE(trained) << trained.error().what;
  EXPECT_LT(trained->losses.back(), 0.95 * trained->losses.front());
}

TEST_F(TokenTraining, BadFilesAreRefusedBeforeTheFirstStep) {
  const std::string ids = token_ids(257, 2, 7, 40);
  struct Case {
    std::string bytes;
    std::string what;
  };
  std::string beyond = ids;
  beyond[200] = 41;
  const std::vector<Case> cases{
      {"", "x_train_2.bin: empty"},
      {ids + "x", "x_train_2.bin: ends within a token, at offset 514"},
      {ids.substr(0, 32), "x_train_2.bin: ends at token 16, a sample needs 17"},
      {beyond, "x_train_2.bin: token 41 at offset 200 is not below the vocabulary of 40"},
      {with_token_header(ids).substr(0, 1100), "x_train_2.bin: truncated at offset 1100"},
      {with_token_header(ids, 20240801), "x_train_2.bin: the header's magic at offset 0"},
  };
  for (const auto& [bytes, what] : cases) {
    write_shards();
    EXPECT_EQ(failure(), "");
    std::filesystem::remove_all(folder_ / "run");
    write_text(folder_ / "data/x_train_2.bin", bytes);
    EXPECT_THAT(failure(), HasSubstr(what));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/events.jsonl"));
  }
  write_shards();
  std::filesystem::remove(folder_ / "data/x_val_0.bin");
  EXPECT_THAT(failure(), HasSubstr("there are no validation shards"));
  config_.validate_every = 0;
  config_.average.validate = false;
  EXPECT_EQ(failure(), "");
}

/// A bad sample is replaced by the next good one, as a bad image.
TEST_F(TokenTraining, BadSamplesMayBeSkipped) {
  write_shards();
  std::string ids = token_ids(257, 2, 7, 40);
  ids[200] = 41;
  write_text(folder_ / "data/x_train_2.bin", ids);
  config_.data.skip_bad = true;
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(events_of(folder_ / "run", "epoch")[0]["skipped"], 1);
}

TEST_F(TokenTraining, ImagesAndTokensAreNotMistaken) {
  config_.model = "mlp";
  EXPECT_THAT(
      failure(),
      HasSubstr("model mlp takes images and predicts 1 label for each, data set synthetic has "
                "sequences of 16 tokens"));
  config_.model = "gpt2-tiny";
  config_.data.sequence.reset();
  EXPECT_THAT(failure(), HasSubstr("model gpt2-tiny reads tokens, not images"));
}

}  // namespace
}  // namespace dllaunch
