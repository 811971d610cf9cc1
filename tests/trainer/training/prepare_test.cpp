#include "trainer/session/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <optional>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/support/other_user.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/session/model_tensors.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

std::unique_ptr<Communicator> alone() {
  return *open_communicator("solo", RankEnv{});
}

Result<Session> prepare_small(const TrainConfig& config, const std::filesystem::path& run_dir,
                              std::vector<std::string>* warnings = nullptr) {
  static std::vector<std::unique_ptr<Communicator>> kept;  // sessions use its memory
  kept.push_back(alone());
  const auto warn = [warnings](std::string_view line) {
    if (warnings != nullptr) warnings->emplace_back(line);
  };
  return prepare({.config = config,
                  .run_dir = run_dir,
                  .threads = 1,
                  .warn = warn,
                  .storage_patience = std::chrono::milliseconds(300)},
                 *kept.back());
}

TEST(Session, UsesTheFirstSuitableBackend) {
  const ScratchFolder folder;
  auto config = small_config("auto");
  auto session = prepare_small(config, folder.path());
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_THAT(session->backend, testing::StartsWith(std::string(usable_backends()[0].name)));
  config.precision = Precision::fp64;
  auto exact = prepare_small(config, folder.path());
  ASSERT_TRUE(exact) << exact.error().what;
  EXPECT_THAT(exact->backend, testing::StartsWith("reference"));
}

TEST(Session, ReportsWhyAFasterBackendIsNotUsed) {
  if (usable_backends().size() < 2) GTEST_SKIP() << "this build has one backend";
  const ScratchFolder folder;
  auto config = small_config("auto");
  config.precision = Precision::fp64;  // reference only
  std::vector<std::string> said;
  auto communicator = open_communicator("solo", RankEnv{});
  const auto session = prepare({.config = config,
                                .run_dir = folder.path(),
                                .threads = 1,
                                .warn = [&](std::string_view line) { said.emplace_back(line); }},
                               **communicator);
  ASSERT_TRUE(session);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("fp64"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("reference"), std::string::npos) << said[0];
}

/// Ranks agree on it before they train.
TEST(Session, ReportsThatABatchOfImagesHasNoMemory) {
  const ScratchFolder folder;
  auto session = prepare_small(small_config("reference"), folder.path());
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_GT(session->image_memory, std::int64_t{1} << 20);
  EXPECT_LT(session->image_memory, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(check_image_memory(*session));
  session->image_memory = std::int64_t{5} * (28 * 28 * 4 + 4);
  const auto refused = check_image_memory(*session);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("a batch of 16 images needs 0.00 GiB"));
  EXPECT_EQ(refused.error().hint, "batch_size 5 would fit");
}

TEST(Session, ReportsThatNoBackendServesTheDevice) {
  const ScratchFolder folder;
  auto config = small_config("auto");
  config.device = "hip";
  auto session = prepare_small(config, folder.path());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(session.error().what, "this build has no backend auto for device hip");
}

TEST(Session, BadDataIsABadRequestAndLeavesNothing) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  config.dataset = "mnist";
  config.data = {};
  config.data.path = (folder / "absent").string();
  auto session = prepare_small(config, folder.path());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::bad_request);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Session, AModelThatDoesNotFitTheImagesIsABadRequest) {
  const ScratchFolder folder;
  auto config = small_config("reference");
  config.data.image_size = 2;
  auto session = prepare_small(config, folder.path());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(session.error().what, HasSubstr("lenet"));
}

class Resuming : public testing::Test {
 protected:
  void SetUp() override {
    auto trained = train_alone(config_, run_dir());
    ASSERT_TRUE(trained) << trained.error().what;
    config_.epochs = 9;
  }

  std::filesystem::path run_dir() const { return folder_ / "run"; }

  ScratchFolder folder_;
  TrainConfig config_ = small_config("reference");
};

TEST_F(Resuming, AutoTakesTheNewestOfThisRun) {
  auto session = prepare_small(config_, run_dir());
  ASSERT_TRUE(session);
  EXPECT_EQ(session->resumed_from, run_dir() / "checkpoints" / "step-00000014");
  EXPECT_EQ(session->position.epoch, 2);
  EXPECT_FALSE(session->finished());
  auto elsewhere = prepare_small(config_, folder_ / "other");
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->resumed_from, "");
}

TEST_F(Resuming, ADamagedOneIsNamedAndThePreviousOneUsed) {
  const auto newest = run_dir() / "checkpoints" / "step-00000014";
  std::filesystem::resize_file(newest / "model.safetensors", 1000);
  std::vector<std::string> warnings;
  auto session = prepare_small(config_, run_dir(), &warnings);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->position.step, 7);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0],
              HasSubstr("refused " + newest.string() + ": model.safetensors is truncated: 1000"));
}

/// Gives permissions to `nobody`, the user of tests about permissions: root bypasses them.
void give_to_all(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  fs::permissions(folder, fs::perms::all);
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    fs::permissions(entry.path(), fs::perms::all);
}

/// It may be valid, and it is the newest: starting anew or from an older one would lose it.
TEST_F(Resuming, AnUnreadableCheckpointIsNotSkipped) {
  give_to_all(folder_.path());
  const auto newest = run_dir() / "checkpoints" / "step-00000014";
  const auto was = std::filesystem::perms::all;
  const auto none = std::filesystem::perms::none;
  const std::vector<std::pair<std::filesystem::path, std::filesystem::perms>> closed = {
      {newest / "state.json", none},
      {newest / "model.safetensors", none},
      {newest, none},
      // The folder can be entered but not listed.
      {run_dir() / "checkpoints",
       std::filesystem::perms::owner_write | std::filesystem::perms::owner_exec}};
  for (const auto& [path, mode] : closed) {
    std::filesystem::permissions(path, mode);
    std::vector<std::string> warnings;
    Result<Session> session = [&] {
      const OtherUser nobody;
      return prepare_small(config_, run_dir(), &warnings);
    }();
    std::filesystem::permissions(path, was);
    ASSERT_FALSE(session) << path;
    EXPECT_EQ(session.error().kind, ErrorKind::unavailable) << session.error().what;
    EXPECT_THAT(session.error().what, HasSubstr("Permission denied"));
    EXPECT_THAT(session.error().what, HasSubstr("cannot read " + run_dir().string()));
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_THAT(warnings[0], HasSubstr(": waiting"));
    EXPECT_EQ(list_checkpoints(run_dir() / "checkpoints").size(), 2u);
  }
}

TEST_F(Resuming, WaitsForATemporarilyUnreadableCheckpoint) {
  give_to_all(folder_.path());
  const auto file = run_dir() / "checkpoints" / "step-00000014" / "state.json";
  std::filesystem::permissions(file, std::filesystem::perms::none);
  std::optional<Session> session;
  {
    const OtherUser nobody;
    static std::vector<std::unique_ptr<Communicator>> kept;
    kept.push_back(alone());
    bool mended = false;
    // The file system comes back when the warning about waiting is logged.
    const auto warn = [&](std::string_view) {
      if (geteuid() == 65534 && seteuid(0) != 0) return;
      std::filesystem::permissions(file, std::filesystem::perms::all);
      mended = true;
    };
    auto prepared = prepare({.config = config_,
                             .run_dir = run_dir(),
                             .threads = 1,
                             .warn = warn,
                             .storage_patience = std::chrono::seconds(60)},
                            *kept.back());
    ASSERT_TRUE(prepared) << prepared.error().what;
    EXPECT_TRUE(mended);
    session = *std::move(prepared);
  }
  EXPECT_EQ(session->position.step, 14);
}

TEST_F(Resuming, WithOnlyDamagedOnesItDoesNotStartAnew) {
  for (const char* step : {"step-00000007", "step-00000014"})
    std::filesystem::resize_file(run_dir() / "checkpoints" / step / "model.safetensors", 1000);
  auto session = prepare_small(config_, run_dir());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::bad_request);
  for (const char* message : {"none of the run's checkpoints is valid", "step-00000014: model",
                              "step-00000007: model.safetensors is truncated: 1000 of"})
    EXPECT_THAT(session.error().what, HasSubstr(message));
  EXPECT_THAT(session.error().hint, HasSubstr("resume: none"));
  config_.resume = "none";
  auto anew = prepare_small(config_, run_dir());
  ASSERT_TRUE(anew) << anew.error().what;
  EXPECT_EQ(list_checkpoints(run_dir() / "checkpoints.1").size(), 2u) << "kept aside";
}

/// Neither is read: their sizes suffice to reject them.
TEST_F(Resuming, FilesOfAbsurdSizesAreNotRead) {
  const auto newest = run_dir() / "checkpoints" / "step-00000014";
  const auto expect_refused = [&](const std::string& why) {
    auto session = prepare_small(config_, run_dir());
    ASSERT_TRUE(session) << session.error().what;
    EXPECT_EQ(session->position.step, 7);
    ASSERT_EQ(session->refused.size(), 1u);
    EXPECT_THAT(session->refused[0].why, HasSubstr(why));
  };
  std::filesystem::resize_file(newest / "model.safetensors", 200'000'000'000);
  expect_refused("model.safetensors is too long: 200000000000 of");
  std::filesystem::resize_file(newest / "state.json", 3'000'000'000);
  expect_refused("state.json has 3000000000 bytes");
}

TEST_F(Resuming, APathIsARunItsCheckpointsOrOneStep) {
  for (const auto& path :
       {run_dir(), run_dir() / "checkpoints", run_dir() / "checkpoints" / "step-00000007"}) {
    config_.resume = path.string();
    auto session = prepare_small(config_, folder_ / "new");
    ASSERT_TRUE(session) << path;
    EXPECT_EQ(session->position.step, path.filename() == "step-00000007" ? 7 : 14);
  }
  config_.resume = (folder_ / "absent").string();
  auto session = prepare_small(config_, folder_ / "new");
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().what, "resume: " + config_.resume + " has no valid checkpoint");
}

TEST_F(Resuming, ARestartedRunPrefersItsOwnCheckpoints) {
  config_.resume = (run_dir() / "checkpoints" / "step-00000007").string();
  config_.epochs = 2;
  ASSERT_TRUE(train_alone(config_, folder_ / "second"));
  auto session = prepare_small(config_, folder_ / "second");
  ASSERT_TRUE(session);
  EXPECT_EQ(session->resumed_from, folder_ / "second" / "checkpoints" / "step-00000014");
}

TEST_F(Resuming, NoneStartsAnewAndKeepsOldCheckpoints) {
  config_.resume = "none";
  auto session = prepare_small(config_, run_dir());
  ASSERT_TRUE(session);
  EXPECT_EQ(session->position.step, 0);
  EXPECT_TRUE(list_checkpoints(run_dir() / "checkpoints").empty());
  EXPECT_EQ(list_checkpoints(run_dir() / "checkpoints.1").size(), 2u);
}

TEST_F(Resuming, AnotherModelShapeOrTypeIsRefused) {
  auto other_model = config_;
  other_model.model = "cnn";
  EXPECT_THAT(prepare_small(other_model, run_dir()).error().what,
              HasSubstr("step-00000014: is of model lenet, this run trains cnn"));
  auto other_classes = config_;
  other_classes.data.classes = 5;
  EXPECT_THAT(prepare_small(other_classes, run_dir()).error().what,
              HasSubstr("fc3.weight is f32 [10,84], this run needs f32 [5,84]"));
  auto other_type = config_;
  other_type.precision = Precision::fp64;
  EXPECT_THAT(prepare_small(other_type, run_dir()).error().what, HasSubstr("this run needs f64"));
  auto no_momentum = config_;
  no_momentum.optimizer_options.momentum = 0;
  EXPECT_THAT(prepare_small(no_momentum, run_dir()).error().what,
              HasSubstr("optimizer.safetensors: holds 10 tensors, this run needs 0"));
}

TEST_F(Resuming, LeftoversAreRemoved) {
  write_text(run_dir() / "checkpoints" / ".tmp-step-00000021" / "model.safetensors", "half");
  ASSERT_TRUE(prepare_small(config_, run_dir()));
  EXPECT_FALSE(std::filesystem::exists(run_dir() / "checkpoints" / ".tmp-step-00000021"));
}

TEST(Session, ASnapshotHasTheSessionsState) {
  const ScratchFolder folder;
  auto session = prepare_small(small_config("reference"), folder.path());
  ASSERT_TRUE(session);
  session->position = {.epoch = 1, .step = 9, .images = 32, .loss_sum = 1.5, .correct = 3};
  const Checkpoint checkpoint = snapshot(*session, checkpoint_tensors(*session));
  EXPECT_EQ(checkpoint.position.images, 32);
  EXPECT_EQ(checkpoint.model, "lenet");
  EXPECT_EQ(checkpoint.global_batch, 16);
  EXPECT_EQ(checkpoint.class_names.size(), 10u);
  EXPECT_EQ(checkpoint.weights.tensors.size(), session->graph.parameters.size());
  EXPECT_EQ(checkpoint.states.tensors.size(), session->graph.parameters.size());
}

}  // namespace
}  // namespace dllaunch
