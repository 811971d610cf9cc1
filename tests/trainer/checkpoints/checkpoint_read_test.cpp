#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/checkpoints/sound_checkpoint.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(CheckpointRead, ReadsWhatWasWritten) {
  const ScratchFolder folder;
  const Checkpoint sound = sound_checkpoint(469);
  auto written = write_checkpoint(folder.path(), sound, {.keep = 3});
  auto read = read_checkpoint(written->path);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->position.epoch, 2);
  EXPECT_EQ(read->position.step, 469);
  EXPECT_EQ(read->position.images, 96);
  EXPECT_EQ(read->position.loss_sum, sound.position.loss_sum);  // bit-exact
  EXPECT_EQ(read->position.lr, sound.position.lr);
  EXPECT_EQ(read->position.correct, 17);
  EXPECT_EQ(read->model, "lenet");
  EXPECT_EQ(read->optimizer, "sgd");
  EXPECT_EQ(read->seed, 5u);
  EXPECT_EQ(read->class_names, sound.class_names);
  EXPECT_EQ(read->normalization.std, sound.normalization.std);
  EXPECT_EQ(read->weights.tensors[0].data, sound.weights.tensors[0].data);
  EXPECT_EQ(read->states.tensors[0].shape, (Shape{2, 2}));
}

/// Written by the trainer of commit 9192368.
TEST(CheckpointRead, ReadsAnEarlierTrainers) {
  const fs::path folder = DLLAUNCH_SOURCE_DIR "/tests/fixtures/runs/9192368/checkpoints";
  const CheckpointSearch search = find_newest_checkpoint(folder);
  ASSERT_TRUE(search.found);
  EXPECT_TRUE(search.refused.empty());
  EXPECT_EQ(search.found->path.filename(), "step-00400000");
  const Checkpoint& checkpoint = search.found->checkpoint;
  EXPECT_EQ(checkpoint.position.epoch, 8);
  EXPECT_EQ(checkpoint.position.step, 400000);
  EXPECT_EQ(checkpoint.optimizer, "sgd");
  EXPECT_EQ(checkpoint.ranks, 2);
  ASSERT_EQ(checkpoint.weights.tensors.size(), 2u);
  for (const Tensor& tensor : checkpoint.weights.tensors) {
    EXPECT_EQ(tensor.shape, tensor.name == "dense1.bias" ? Shape{4} : (Shape{4, 64}));
  }
}

TEST(CheckpointRead, FindsTheNewestValidOneAndNamesTheDamaged) {
  const ScratchFolder folder;
  for (const int step : {1, 2, 3, 4}) {
    ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(step), {.keep = 9}));
  }
  fs::resize_file(folder / "step-00000004" / "model.safetensors", 50);
  fs::remove(folder / "step-00000003" / "optimizer.safetensors");
  const auto search = find_newest_checkpoint(folder.path());
  ASSERT_TRUE(search.found);
  EXPECT_EQ(search.found->path, folder / "step-00000002");
  ASSERT_EQ(search.refused.size(), 2u);
  EXPECT_EQ(search.refused[0].path, folder / "step-00000004");
  EXPECT_THAT(search.refused[0].why, HasSubstr("model.safetensors is truncated: 50 of "));
  EXPECT_EQ(search.refused[1].why, "optimizer.safetensors is missing");
}

TEST(CheckpointRead, AMissingOrEmptyFolderHasNone) {
  const ScratchFolder folder;
  EXPECT_FALSE(find_newest_checkpoint(folder.path()).found);
  EXPECT_FALSE(find_newest_checkpoint(folder / "absent").found);
  write_text(folder / ".tmp-step-00000001" / "state.json", "{}");
  write_text(folder / "step-1" / "state.json", "{}");
  EXPECT_TRUE(find_newest_checkpoint(folder.path()).refused.empty());
}

TEST(CheckpointRead, OrdersStepsBeyondEightDigits) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(99'999'999), {.keep = 9}));
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(100'000'000), {.keep = 9}));
  EXPECT_EQ(find_newest_checkpoint(folder.path()).found->checkpoint.position.step, 100'000'000);
}

class CheckpointDamage : public testing::TestWithParam<const char*> {};

/// Every byte matters: the header's length, the header, the data, the text of state.json.
TEST_P(CheckpointDamage, DetectsAnyFlippedBitAndNamesTheFile) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder.path(), sound_checkpoint(1), {.keep = 3});
  const fs::path file = written->path / GetParam();
  const std::string whole = read_text(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
    write_text(file, flipped);
    auto read = read_checkpoint(written->path);
    ASSERT_FALSE(read) << GetParam() << " byte " << at;
    EXPECT_THAT(read.error().what, HasSubstr(GetParam()));
  }
  write_text(file, whole);
  EXPECT_TRUE(read_checkpoint(written->path));
}

TEST_P(CheckpointDamage, DetectsAnyTruncationAndNamesTheFile) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder.path(), sound_checkpoint(1), {.keep = 3});
  const fs::path file = written->path / GetParam();
  const std::string whole = read_text(file);
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    write_text(file, whole.substr(0, kept));
    auto read = read_checkpoint(written->path);
    ASSERT_FALSE(read) << GetParam() << " cut to " << kept;
    EXPECT_THAT(read.error().what, HasSubstr(GetParam()));
  }
}

TEST_P(CheckpointDamage, Survives) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder.path(), sound_checkpoint(1), {.keep = 3});
  const fs::path file = written->path / GetParam();
  const std::string whole = read_text(file);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::string damaged = mutated(whole, seed);
    write_text(file, damaged);
    EXPECT_EQ(static_cast<bool>(read_checkpoint(written->path)), damaged == whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, CheckpointDamage,
                         testing::Values("model.safetensors", "optimizer.safetensors",
                                         "state.json"),
                         [](const auto& file) {
                           const std::string name = file.param;
                           return name.substr(0, name.find('.'));
                         });

/// Written by versions before the field existed.
TEST(CheckpointRead, ReadsAStateWithoutARate) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder.path(), sound_checkpoint(5), {3});
  ASSERT_TRUE(written) << written.error().what;
  std::string text = read_text(written->path / "state.json");
  const std::size_t lr = text.find("  \"lr\"");
  ASSERT_NE(lr, std::string::npos);
  text.erase(lr, text.find('\n', lr) + 1 - lr);
  const std::size_t own = text.rfind(checksum_of_itself) + checksum_of_itself.size();
  text.replace(own, no_checksum.size(), no_checksum);
  text.replace(own, no_checksum.size(), checksum(std::as_bytes(std::span(text))));
  write_text(written->path / "state.json", text);
  const auto read = read_checkpoint(written->path);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->position.lr, 0);
}

/// A valid checksum only proves the writer's intent, not that the content makes sense.
TEST(CheckpointRead, SurvivesNonsenseWithAValidChecksum) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder.path(), sound_checkpoint(1), {.keep = 3});
  for (const char* nonsense : {"[]", "{}", "{\"format\": \"x\"}", "{\"format\": 1}",
                               "{\"format\": 2}", "{\"format\": 1, \"bytes\": 3}"}) {
    std::string text =
        std::string(nonsense) + std::string(checksum_of_itself) + std::string(no_checksum);
    text += checksum(std::as_bytes(std::span(text)));
    write_text(written->path / "state.json", text);
    EXPECT_FALSE(read_checkpoint(written->path));
  }
}

}  // namespace
}  // namespace dllaunch
