// Ranks that run collectives in a loop under a watchdog, as training does, until they are stopped,
// killed or told to sleep. The tests next to this file start it under mpirun.
//
//   stalling_ranks COMMUNICATOR STALL_SECONDS ABORT_SECONDS LOOP_SECONDS [RANK WHERE SECONDS]
//
// WHERE says when the rank sleeps, once, in its 20th round: before a collective, begun (between its
// start and its wait), inside (its wait), after (the last one, before it leaves).
//
// COMMUNICATOR pipeline: two stages, each of half of the ranks, which also exchange messages.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "runtime/activity/observed_communicator.hpp"
#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/communicators/ring/ring.hpp"
#include "runtime/watchdog/watchdog.hpp"
#include "support/fatal.hpp"

namespace dllaunch {

constexpr int sleepy_round = 20;

struct Sleep {
  int rank = -1;
  std::string where;
  double seconds = 0;

  void at(const std::string& place, int rank_here, int round) const {
    if (place != where || rank_here != rank || round != sleepy_round) return;
    fmt::print(stderr, "rank {} sleeps {}\n", rank, where);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
};

/// Outside the anonymous namespace, so that stacks name its functions. Sleeps within wait(), where
/// the rank seems to wait like the others.
class SleepyCommunicator final : public Communicator {
 public:
  SleepyCommunicator(std::unique_ptr<Communicator> inner, Sleep sleep)
      : inner_(std::move(inner)), sleep_(std::move(sleep)) {}
  std::string_view name() const override { return inner_->name(); }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    return inner_->all_reduce(data, count, type, op);
  }
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override {
    return inner_->reduce_scatter(data, count, type, op);
  }
  Pending all_gather(void* data, std::size_t count, DType type) override {
    return inner_->all_gather(data, count, type);
  }
  Pending broadcast(void* data, std::size_t count, DType type, int root) override {
    return inner_->broadcast(data, count, type, root);
  }
  Pending barrier() override { return inner_->barrier(); }
  bool test(Pending pending) override { return inner_->test(pending); }
  void wait(Pending pending) override {
    sleep_.at("inside", rank(), round);
    inner_->wait(pending);
  }
  std::span<std::byte> allocate(std::size_t bytes) override { return inner_->allocate(bytes); }

  int round = 0;

 private:
  std::unique_ptr<Communicator> inner_;
  Sleep sleep_;
};

namespace {

volatile std::sig_atomic_t asked_to_end = 0;

void work() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

std::string own_host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

void train(ObservedCommunicator& communicator, SleepyCommunicator& inner, Activity& activity,
           const Sleep& sleep, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<float> gradients(100'000, 1.0F);
  for (int round = 1;; ++round) {
    inner.round = round;
    activity.enter(RankPhase::data);
    sleep.at("before", inner.rank(), round);
    activity.enter(RankPhase::backward);
    work();
    const Pending pending =
        communicator.all_reduce(gradients.data(), gradients.size(), DType::f32, ReduceOp::average);
    sleep.at("begun", inner.rank(), round);
    work();
    activity.enter(RankPhase::reduce);
    communicator.wait(pending);
    // On a busy machine twenty rounds take longer than the requested seconds.
    double done = std::chrono::steady_clock::now() >= end && round >= sleepy_round ? 1 : 0;
    communicator.wait(communicator.all_reduce(&done, 1, DType::f64, ReduceOp::max));
    activity.set_step(round);
    if (done > 0) break;
  }
  activity.enter(RankPhase::end);
  sleep.at("after", inner.rank(), sleepy_round);
}

/// The ranks of the job as a pipeline of two stages.
struct Pipeline {
  explicit Pipeline(const Peers& world)
      : replicas(world.size() / 2),
        stage(world.rank() / replicas),
        replica(world.rank() % replicas),
        chain(world.split(replica, stage)),
        own_stage(world.split(stage, replica)) {}

  int replicas;
  int stage;
  int replica;
  std::unique_ptr<Peers> chain;      // the stages of this replica
  std::unique_ptr<Peers> own_stage;  // the replicas of this stage
};

/// Sends to the other stage or receives from it, and waits.
void pass(const Pipeline& pipeline, bool sends, std::uint64_t round, Activity& activity) {
  static std::vector<std::byte> data(200'000);
  const int other = 1 - pipeline.stage;
  activity.enter(RankPhase::pipeline, 0);
  activity.begin_wait_for(other * pipeline.replicas + pipeline.replica);
  const Pending exchange = pipeline.chain->open();
  if (sends) {
    pipeline.chain->send(exchange, data.data(), data.size(), other, round);
  } else {
    pipeline.chain->receive(exchange, data.data(), data.size(), other, round);
  }
  pipeline.chain->wait(exchange);
  activity.end_wait();
}

void train_stages(const Pipeline& pipeline, Communicator& world, Communicator& replicas,
                  Activity& activity, const Sleep& sleep, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<float> gradients(100'000, 1.0F);
  for (int round = 1;; ++round) {
    const auto message = static_cast<std::uint64_t>(2 * round);
    if (pipeline.stage > 0) pass(pipeline, false, message, activity);
    activity.enter(RankPhase::forward, 0);
    sleep.at("before", world.rank(), round);
    work();
    if (pipeline.stage == 0) {
      pass(pipeline, true, message, activity);
      pass(pipeline, false, message + 1, activity);
    }
    activity.enter(RankPhase::backward, 0);
    work();
    if (pipeline.stage > 0) pass(pipeline, true, message + 1, activity);
    activity.enter(RankPhase::reduce);
    replicas.wait(
        replicas.all_reduce(gradients.data(), gradients.size(), DType::f32, ReduceOp::average));
    double done = std::chrono::steady_clock::now() >= end && round >= sleepy_round ? 1 : 0;
    world.wait(world.all_reduce(&done, 1, DType::f64, ReduceOp::max));
    activity.set_step(round);
    if (done > 0) break;
  }
  activity.enter(RankPhase::end);
}

WatchdogOptions options_of(const std::vector<std::string>& argv, const RankEnv& env) {
  return {.stall_seconds = std::stod(argv[1]),
          .stall_abort_seconds = std::stod(argv[2]),
          .host = own_host(),
          .say = [](const StallNotice& notice) { fmt::print(stderr, "{}\n", notice.line); },
          .ending = [] { return asked_to_end != 0; },
          .end_with_parent = env.launcher == "openmpi"};
}

int run_stages(const std::vector<std::string>& argv, const RankEnv& env, const Sleep& sleep) {
  auto opened = open_peers(env);
  if (!opened) return 3;
  const Pipeline pipeline(**opened);
  Activity activity;
  std::unique_ptr<Watchdog> watchdog;
  ObservedCommunicator replicas(open_ring(pipeline.own_stage->split(0, pipeline.replica)), activity,
                                CollectiveScope::group);
  ObservedCommunicator world(open_ring(*std::move(opened)), activity);
  auto options = options_of(argv, env);
  options.group = pipeline.stage;
  watchdog = Watchdog::start(std::move(options), world, activity);
  fmt::print(stderr, "rank {} is process {}\n", env.rank, ::getpid());
  train_stages(pipeline, world, replicas, activity, sleep, std::stod(argv[3]));
  return 0;
}

int run(const std::vector<std::string>& argv) {
  auto env = read_rank_env(process_environment());
  if (!env || argv.size() < 4) return 2;
  set_fatal_identity(env->rank, own_host());
  // As in dltrain.
  ::signal(SIGTERM, [](int) { asked_to_end = 1; });
  Sleep sleep;
  if (argv.size() == 7) sleep = {std::stoi(argv[4]), argv[5], std::stod(argv[6])};
  if (argv[0] == "pipeline") return run_stages(argv, *env, sleep);
  auto opened = open_communicator(argv[0], *env);
  if (!opened) return 3;
  auto sleepy = std::make_unique<SleepyCommunicator>(*std::move(opened), sleep);
  SleepyCommunicator& inner = *sleepy;
  Activity activity;
  std::unique_ptr<Watchdog> watchdog;
  ObservedCommunicator communicator(std::move(sleepy), activity);
  watchdog = Watchdog::start(options_of(argv, *env), communicator, activity);
  fmt::print(stderr, "rank {} is process {}\n", env->rank, ::getpid());
  train(communicator, inner, activity, sleep, std::stod(argv[3]));
  return 0;
}

}  // namespace
}  // namespace dllaunch

int main(int argc, char** argv) {
  return dllaunch::run({argv + 1, argv + argc});
}
