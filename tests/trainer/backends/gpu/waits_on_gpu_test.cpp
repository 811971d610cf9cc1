// The update waits for the reduction on the GPU: trainings of several ranks with fake GPUs whose
// work runs only when something waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "runtime/activity/observed_communicator.hpp"
#include "runtime/communicators/nccl/nccl_communicator.hpp"
#include "tests/runtime/communicators/forwarding.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::IsEmpty;

/// Counts what the GPU waits for. Refuses it if not `follows`: then the host waits. No reduction is
/// found done before something waits for it, however fast the other ranks are.
class Watched final : public Forwarding {
 public:
  Watched(Communicator& real, bool follows, const Activity& activity)
      : Forwarding(real), follows_(follows), activity_(activity) {}
  bool follow(Pending pending) override {
    if (!follows_ || !real_.follow(pending)) return false;
    ++followed;
    open_.insert(pending.id);
    return true;
  }
  bool test(Pending pending) override { return real_.test({}) && pending.id == 0; }
  void wait(Pending pending) override {
    const bool followed_it = open_.erase(pending.id) > 0;
    if (followed_it && activity_.beacon().waiting_for != 0) ++settled;
    if (followed_it && host_gpus().deferred.done < host_gpus().deferred.given) ++ahead;
    // A GPU may be as far as its own waits allow, before the host looks.
    if (followed_it) static_cast<void>(gpu_synchronise(nullptr));
    real_.wait(pending);
  }
  std::size_t followed = 0;
  std::size_t settled = 0;  // of these, waited for by the host, which says so to the watchdog
  std::size_t ahead = 0;    // of these, with later work already given to the GPU

 private:
  bool follows_;
  const Activity& activity_;
  std::set<std::int64_t> open_;
};

struct Outcome {
  std::vector<double> losses;
  std::size_t followed = 0;
  std::size_t ahead = 0;
  std::size_t settled = 0;
};

class WaitsOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    config.model = "mlp";
    config.epochs = 1;
    config.batch_size = 8;
    config.runtime.bucket_mb = 0.05;
  }
  void TearDown() override {
    host_gpus().defers = false;
    EXPECT_THAT(host_collectives().complaints, IsEmpty());
  }
  Outcome train_with(bool follows) {
    host_gpus().pci = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"};
    ::setenv("DLLAUNCH_GPUS", "", 1);
    host_collectives() = {};
    auto host = all_ranks();
    auto opened = NcclCommunicator::open(host, *read_rank_env(process_environment()));
    if (!opened) throw std::runtime_error(opened.error().what);
    Activity activity;
    auto inside = std::make_unique<Watched>(**opened, follows, activity);
    const Watched& watched = *inside;
    ObservedCommunicator observed(std::move(inside), activity);
    Outcome run;
    TrainOptions options;
    options.prepare = {.config = config, .run_dir = folder.path(), .threads = 1};
    options.on_step = [&](const StepReport& step) { run.losses.push_back(step.loss); };
    config.resume = "none";
    options.prepare.config = config;
    host_gpus().defers = true;
    const auto report = train(options, observed);
    static_cast<void>(gpu_synchronise(nullptr));
    host_gpus().defers = false;
    if (!report) throw std::runtime_error(report.error().what);
    const auto& world = activity.beacon().in(CollectiveScope::world);
    EXPECT_EQ(world.ended, world.begun);
    run.followed = watched.followed;
    run.ahead = watched.ahead;
    run.settled = watched.settled;
    return run;
  }

  const ScratchFolder folder;
  TrainConfig config = small_config("auto");
};

/// The same losses, bit for bit; the host has given the GPU its work before any of it ran.
TEST_F(WaitsOnGpu, TheHostRunsAheadByLessThanAStep) {
  for (const bool shard : {false, true}) {
    SCOPED_TRACE(shard);
    config.shard = shard;
    const Outcome waiting = train_with(false);
    const Outcome ahead = train_with(true);
    EXPECT_EQ(waiting.followed, 0U);
    EXPECT_EQ(ahead.losses, waiting.losses);
    const std::size_t steps = ahead.losses.size();
    ASSERT_GE(steps, 3U);
    // The last bucket of every step; sharded, its weights too.
    EXPECT_EQ(ahead.followed, steps * (shard ? 2 : 1));
    EXPECT_EQ(ahead.ahead, steps) << "until the first wait of each";
    EXPECT_EQ(ahead.settled, ahead.followed) << "NCCL's errors and the watchdog need the host";
  }
}

/// fp16 looks at the gradients before it updates.
TEST_F(WaitsOnGpu, TheHostWaitsWhereItLooksAtGradients) {
  config.precision = Precision::fp16;
  EXPECT_EQ(train_with(true).followed, 0U);
  config.precision = Precision::fp32;
  config.optimizer = "lars";
  EXPECT_EQ(train_with(true).followed, 0U);
}

}  // namespace
}  // namespace dllaunch
