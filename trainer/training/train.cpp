#include "trainer/training/train.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "runtime/gradients/gradient_reducer.hpp"
#include "support/awake_clock.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/data/skipped_images.hpp"
#include "trainer/graph/dropout.hpp"
#include "trainer/parameters/buffers.hpp"
#include "trainer/reports/epoch_line.hpp"
#include "trainer/reports/gpu_watch.hpp"
#include "trainer/reports/stragglers.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/loss_scaling.hpp"
#include "trainer/session/step_info.hpp"
#include "trainer/session/validation.hpp"
#include "trainer/training/announce.hpp"
#include "trainer/training/checkpointing.hpp"
#include "trainer/training/guard.hpp"
#include "trainer/training/loss_failure.hpp"
#include "trainer/training/make_reducer.hpp"
#include "trainer/training/prepare.hpp"
#include "trainer/training/reports.hpp"
#include "trainer/tuning/bucket_choice.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Exchanged in every step, summed over ranks.
struct StepSums {
  double loss = 0;
  double correct = 0;
  double stop = 0;        // ranks with a stop request
  double checkpoint = 0;  // rank 0: a checkpoint is due
  double failed = 0;      // ranks that failed to read images or write a checkpoint
};
static_assert(sizeof(StepSums) == 5 * sizeof(double), "reduced as an array of doubles");

/// A step in progress.
struct StepWork {
  int micro_batches = 1;
  double scale = 1;
  StepSums sums = {};
  double own_loss = 0;
  Pending exchange = {};  // of the sums
  std::optional<Error> error = {};
  int shown(int micro_batch) const { return micro_batches > 1 ? micro_batch : -1; }  // in traces
};

enum class Pause { epoch_end, max_steps, stop };

class Training {
 public:
  Training(const TrainOptions& options, Communicator& communicator, Activity& activity,
           Session& session, Reports& reports)
      : options_(options),
        config_(session.config),
        communicator_(communicator),
        activity_(activity),
        session_(session),
        reports_(reports),
        reducer_(make_reducer(session)),
        buckets_(*session.replicas, *session.arenas, reducer_, bucket_place(options, session),
                 tunes_buckets(options.prepare.config.runtime)),
        scaling_(session.config.precision, session.position.loss_scale, *session.arenas,
                 communicator, session.pipeline != nullptr),
        stragglers_(communicator, activity, options.host, session.place().stage),
        gpus_(communicator, {.pci = session.opened->gpu(),
                             .host = options.host,
                             .libraries = options.gpu_libraries,
                             .period = options.gpu_period,
                             .alarm = options.on_gpu_alarm,
                             .steps = [this] { return session_.take_step_times(); }}),
        skipped_(options.prepare.warn),
        checkpointing_(
            session, communicator, reports,
            {.nodes = options.nodes.value_or(1), .say = options.say, .warn = options.prepare.warn}),
        guard_(session, communicator, activity, reports,
               {.host = options.host, .drill = options.drill, .warn = options.prepare.warn}),
        images_(session.dataset->size(Split::train)) {}

  /// An Error ends the training on every rank.
  Result<TrainStatus> run() {
    session_.executable->before_waiting([this] { settle(); });
    auto status = run_epochs();
    session_.executable->before_waiting({});
    checkpointing_.finish();
    return status;
  }

 private:
  Result<TrainStatus> run_epochs();
  Result<Pause> train_epoch();
  Result<StepSums> run_step(Loader& loader, const StepInfo& now);
  Batch next_batch(int micro_batch, Loader& loader, StepWork& step);
  void run_forward(int micro_batch, Loader& loader, StepWork& step);
  void run_backward(int micro_batch, StepWork& step);
  /// Returns whether to save the epoch.
  Result<bool> finish_epoch(Pause pause, Clock::time_point epoch_start);
  Result<Ok> save(bool last);
  Result<Ok> compare();
  ReducerStats finish_reduction();
  void settle();
  void apply_late_gradients();
  void report_step(const StepSums& sums, std::int64_t step_images, double lr);

  const TrainOptions& options_;
  const TrainConfig& config_;
  Communicator& communicator_;
  Activity& activity_;
  Session& session_;
  Reports& reports_;
  GradientReducer reducer_;
  BucketChoice buckets_;
  LossScaling scaling_;
  StragglerWatch stragglers_;
  GpuWatch gpus_;
  SkippedImages skipped_;
  Checkpointing checkpointing_;
  Guard guard_;
  std::string culprit_;            // node that made this rank's loss non-finite
  std::optional<double> step_lr_;  // of the latest step
  double own_loss_ = 0;            // likewise, of this rank
  StepInfo reduced_;               // of the step whose gradients the reducer returns next
  std::int64_t images_;            // in the training split
  double training_s_ = 0;          // in this epoch, without validation and checkpoints
  std::int64_t epoch_images_ = 0;  // trained on in this epoch by this process
  Clock::time_point last_event_ = Clock::now();
  std::int64_t images_since_event_ = 0;
  bool reported_ = false;
  bool settles_ = false;  // the GPU waits for collectives of the latest step
};

Result<TrainStatus> Training::run_epochs() {
  while (!session_.finished()) {
    const auto epoch_start = Clock::now();
    auto pause = train_epoch();
    if (!pause) return std::move(pause).error();
    if (*pause == Pause::stop) {
      if (auto saved = save(/*last=*/true); !saved) return std::move(saved).error();
      return TrainStatus::cancelled;
    }
    auto due = finish_epoch(*pause, epoch_start);
    if (!due) return std::move(due).error();
    if (*due || session_.finished()) {
      if (auto saved = save(session_.finished()); !saved) return std::move(saved).error();
    }
  }
  guard_.end();
  return TrainStatus::completed;
}

Result<Pause> Training::train_epoch() {
  TrainPosition& at = session_.position;
  auto start = Clock::now();
  stragglers_.begin_epoch();
  gpus_.begin_epoch();
  epoch_images_ = 0;
  training_s_ = 0;
  Loader loader(*session_.dataset, session_.normalization,
                epoch_order(config_.seed, at.epoch, images_),
                session_.place().is_first()
                    ? deal_epoch(images_, session_.shape, at.images, session_.replica())
                    : std::vector<Slice>(),
                loader_options(session_, Split::train));
  while (at.images < images_) {
    const StepInfo now = step_info(config_, session_.shape, images_, at);
    const std::int64_t count = step_images(images_, session_.shape, at.images);
    auto sums = run_step(loader, now);
    skipped_.add(loader.take_skipped());
    if (!sums) return std::move(sums).error();
    activity_.enter(RankPhase::between);
    stragglers_.end_step();
    at.step += 1;
    guard_.end_step(own_loss_);
    activity_.set_step(at.step);
    at.images += count;
    at.loss_sum += sums->loss;
    at.correct += std::llround(sums->correct);
    epoch_images_ += count;
    training_s_ = seconds_since(start);
    at.lr = now.lr;
    step_lr_ = now.lr;
    report_step(*sums, count, now.lr);
    if (guard_.due()) {
      if (auto sound = compare(); !sound) return std::move(sound).error();
    }
    if (at.images < images_ && session_.finished()) return Pause::max_steps;
    if (sums->stop > 0) return Pause::stop;
    if (at.images < images_ && sums->checkpoint > 0) {
      const auto before = Clock::now();
      if (auto saved = save(/*last=*/false); !saved) return std::move(saved).error();
      start += Clock::now() - before;
    }
  }
  return Pause::epoch_end;
}

Result<StepSums> Training::run_step(Loader& loader, const StepInfo& now) {
  const TrainPosition& at = session_.position;
  StepWork step{.micro_batches = static_cast<int>(
                    deal_step(images_, session_.shape, at.images, session_.replica()).size())};
  step.scale =
      scaling_.factor() / static_cast<double>(step_images(images_, session_.shape, at.images));
  StepSums& sums = step.sums;
  sums.stop = options_.stop_requested() ? 1 : 0;
  sums.checkpoint = checkpointing_.due_by_time() ? 1 : 0;
  step.error = checkpointing_.look();
  if (!step.error) step.error = session_.taken_over();
  if (step.error) sums.failed = 1;
  if (session_.pipeline) session_.pipeline->links().begin(step.micro_batches, /*backward=*/true);
  for (const Pass& pass : one_forward_one_backward(session_.place(), step.micro_batches)) {
    pass.forward ? run_forward(pass.micro_batch, loader, step)
                 : run_backward(pass.micro_batch, step);
  }
  if (session_.pipeline) session_.pipeline->end_step(*session_.executable);
  activity_.enter(RankPhase::reduce);
  communicator_.wait(step.exchange);
  stragglers_.end_exchange();
  const ReducerStats reduced = finish_reduction();
  guard_.before_update();
  buckets_.stop();
  activity_.enter(RankPhase::update);
  if (sums.failed > 0) return *agree(communicator_, std::move(step.error));
  if (!std::isfinite(sums.loss)) {
    return explain_loss({.own = step.own_loss, .culprit = culprit_}, session_, communicator_);
  }
  // Gradients that arrive a step late are applied with the rate of their own step.
  const StepInfo theirs = config_.runtime.gradient_lag > 0 ? std::exchange(reduced_, now) : now;
  if (reduced.reduced) {
    if (auto failure = scaling_.begin_update(theirs)) return *std::move(failure);
  }
  own_loss_ = step.own_loss;
  // With a sharded optimiser: waits for other ranks and the network.
  activity_.enter(RankPhase::reduce);
  session_.arenas->wait_for_weights(/*on_gpu=*/settles_);
  buckets_.next();
  return sums;
}

/// Returns the batch that this rank computes next: from the data set, or the stage before.
Batch Training::next_batch(int micro_batch, Loader& loader, StepWork& step) {
  activity_.enter(RankPhase::data, step.shown(micro_batch));
  if (!session_.place().is_first()) return session_.pipeline->links().receive_batch();
  auto loaded = loader.next();
  if (!loaded) {
    // The other ranks wait in this step's collectives: take part with no images, then report.
    step.error = std::move(loaded).error();
    step.sums.failed = 1;
    return {};
  }
  loaded->random = batch_key({config_.seed, session_.position.step, session_.replica(),
                              static_cast<std::size_t>(micro_batch)});
  return *std::move(loaded);
}

void Training::run_forward(int micro_batch, Loader& loader, StepWork& step) {
  const Batch batch = next_batch(micro_batch, loader, step);
  activity_.enter(RankPhase::forward, step.shown(micro_batch));
  Executable& executable = session_.executable_for({.forward = true, .micro_batch = micro_batch});
  const ForwardResult result = executable.forward(batch, Phase::train);
  settle();  // unless forward() has called it
  if (!std::isfinite(result.loss_sum)) {
    culprit_ = executable.first_non_finite(batch);
    // An earlier stage names it.
    if (culprit_ == "input" && !session_.place().is_first()) culprit_.clear();
  }
  step.sums.loss += result.loss_sum;
  step.sums.correct += result.correct;
  if (!session_.place().is_last()) session_.pipeline->links().send_batch(batch, executable);
}

void Training::run_backward(int micro_batch, StepWork& step) {
  activity_.enter(RankPhase::backward, step.shown(micro_batch));
  Executable& executable = session_.executable_for({.forward = false, .micro_batch = micro_batch});
  if (!session_.place().is_last()) session_.pipeline->links().receive_gradient(executable);
  const bool accumulate = micro_batch > 0;
  if (micro_batch + 1 < step.micro_batches) {
    executable.backward(step.scale, accumulate, [](int) {});
  } else {
    // Known before the backward pass, so it is reduced during it, ahead of the buckets.
    step.own_loss = step.sums.loss;
    step.exchange = communicator_.all_reduce(&step.sums, sizeof(StepSums) / sizeof(double),
                                             DType::f64, ReduceOp::sum);
    stragglers_.begin_exchange();
    buckets_.start();
    reducer_.begin();
    executable.hold_ready_until(reducer_.last_slots());
    executable.backward(step.scale, accumulate, [this](int slot) {
      if (slot != no_slot) guard_.take_gradient(slot);
      if (slot != no_slot) reducer_.ready(slot);
      reducer_.progress();
    });
  }
  if (!session_.place().is_first()) session_.pipeline->links().send_gradient(executable);
}

/// Leaves the wait to the GPU where the host needs nothing of the gradients and the weights before
/// the next loss. The host then runs ahead, by less than a step.
ReducerStats Training::finish_reduction() {
  const bool host_looks = config_.precision == Precision::fp16 || session_.arenas->measures() ||
                          config_.sync_batch_norm || buckets_.is_timing() || session_.shares();
  settles_ = !host_looks && session_.arenas->on_device() && reducer_.finish_on_gpu();
  const ReducerStats stats = settles_ ? ReducerStats{} : reducer_.finish();
  if (session_.pipeline) {
    session_.pipeline->sum_shared_gradients(*session_.executable, session_.arenas->layout(),
                                            session_.arenas->gradients());
  }
  return stats;
}

/// Ends the collectives for which the GPU waits. The host waits as in finish(), so that the library
/// can report an error, the watchdog names the collective, and stragglers are charged for it.
void Training::settle() {
  if (!std::exchange(settles_, false)) return;
  const RankPhase phase = activity_.phase();
  activity_.enter(RankPhase::reduce);
  reducer_.settle();
  session_.arenas->wait_for_weights();
  activity_.enter(phase);
}

/// Before weights are evaluated or saved: applies the gradients still on their way.
void Training::apply_late_gradients() {
  settle();
  activity_.enter(RankPhase::update);
  if (reducer_.drain()) session_.arenas->update(reduced_);
}

void Training::report_step(const StepSums& sums, std::int64_t count, double lr) {
  const TrainPosition& at = session_.position;
  const double loss = sums.loss / static_cast<double>(count);
  options_.on_step({.epoch = at.epoch + 1, .step = at.step, .loss = loss, .lr = lr});
  images_since_event_ += count;
  const double elapsed_s = seconds_since(last_event_);
  const bool epoch_ends = at.images == images_ || session_.finished();
  if (reported_ && elapsed_s < 0.1 && !epoch_ends) return;  // at most ten per second
  const double images_per_s = static_cast<double>(images_since_event_) / elapsed_s;
  reports_.step({.epoch = at.epoch + 1,
                 .step = at.step,
                 .loss = loss,
                 .lr = lr,
                 .images_per_s = images_per_s,
                 .tokens_per_s = session_.tokens_of(images_per_s)});
  reported_ = true;
  last_event_ = Clock::now();
  images_since_event_ = 0;
}

Result<bool> Training::finish_epoch(Pause pause, Clock::time_point epoch_start) {
  apply_late_gradients();
  TrainPosition& at = session_.position;
  const EpochRanks ranks = stragglers_.end_epoch();
  const EpochGpus gpus = gpus_.end_epoch(at.epoch + 1);
  options_.on_clock(measure_clock(communicator_, clock_identity()));
  const auto seen = static_cast<double>(at.images);
  EpochEvent event{
      .epoch = at.epoch + 1, .step = at.step, .loss = at.loss_sum / seen, .lr = step_lr_};
  if (session_.judged != TargetKind::values) {
    event.accuracy = static_cast<double>(at.correct) / (seen * session_.labels());
  }
  if (session_.tokens_of(1)) event.perplexity = std::exp(event.loss);
  if (pause == Pause::epoch_end) {
    at.epoch += 1;
    at.images = 0;
    at.loss_sum = 0;
    at.correct = 0;
  }
  const std::int64_t every = config_.validate_every;
  if (every > 0 && (event.epoch % every == 0 || session_.finished())) {
    activity_.enter(RankPhase::validation);
    auto measured = validate(session_, communicator_);
    if (!measured) return std::move(measured).error();
    skipped_.add(measured->skipped);
    activity_.enter(RankPhase::between);
    tell(*measured, session_.judged, event);
    reports_.validation(*measured);
  }
  scaling_.tell(event);
  if (config_.data.skip_bad) event.skipped = skipped_.take_sum(communicator_);
  event.seconds = seconds_since(epoch_start);
  event.images_per_s = training_s_ > 0 ? static_cast<double>(epoch_images_) / training_s_ : 0;
  event.tokens_per_s = session_.tokens_of(event.images_per_s);
  event.images = epoch_images_;
  reports_.epoch(event, ranks, gpus);
  if (communicator_.rank() == 0) {
    options_.say(epoch_line(event, config_.epochs));
    constexpr std::size_t most_lines = 3;
    for (const auto& line : straggler_lines(ranks, most_lines)) options_.say(line);
    for (const auto& line : gpus.notes) options_.prepare.warn(line);
  }
  return checkpointing_.due_after(event, pause == Pause::epoch_end);
}

/// An update that is still under way would make replicas differ.
Result<Ok> Training::compare() {
  settle();
  auto sound = guard_.compare();
  // It was found whose numbers had been wrong, by steps that are right now.
  if (!sound && guard_.agrees_here()) {
    if (auto saved = save(/*last=*/true); !saved) return saved;
  }
  return sound;
}

Result<Ok> Training::save(bool last) {
  apply_late_gradients();
  if (config_.runtime.gradient_lag > 0) guard_.compare_again();
  if (auto sound = compare(); !sound) return sound;
  activity_.enter(RankPhase::checkpoint);
  session_.arenas->gather_states();
  average_buffers(session_.graph, *session_.executable, *session_.replicas);
  if (auto saved = checkpointing_.save(last); !saved) return saved;
  activity_.enter(RankPhase::between);
  return Ok{};
}

std::string_view to_string(TrainStatus status) {
  constexpr std::array<std::string_view, 4> words{"completed", "cancelled", "failed", "taken over"};
  return words[static_cast<std::size_t>(status)];
}

/// Collective. Called last, so that no other error replaces this one.
std::optional<Error> taken_over(Fence* fence, Communicator& communicator) {
  std::optional<Error> by;
  if (communicator.rank() == 0 && fence != nullptr && !fence->check()) by = fence->closed();
  return agree(communicator, std::move(by));
}

TrainReport report_taken_over(Error by, const TrainPosition& position) {
  return {.status = TrainStatus::taken_over, .position = position, .error = std::move(by)};
}

/// Reports a training that was stopped before its first step.
TrainReport report_stop(const Session& session, Communicator& communicator, double seconds) {
  if (communicator.rank() == 0) {
    auto events = EventLog::open(session.run_dir / "events.jsonl", session.fencing_token());
    if (events) events->end(to_string(TrainStatus::cancelled), seconds);
  }
  return {.status = TrainStatus::cancelled, .position = {}};
}

}  // namespace

Result<TrainReport> train(const TrainOptions& options, Communicator& communicator) {
  const auto start = Clock::now();
  Fence* const fence = options.prepare.fence;
  auto session = prepare(options.prepare, communicator);
  if (!session || session->stopped) {
    if (auto by = taken_over(fence, communicator)) return report_taken_over(*std::move(by), {});
  }
  if (!session) return std::move(session).error();
  if (session->stopped) return report_stop(*session, communicator, seconds_since(start));

  Reports reports;
  std::optional<Error> unwritable;
  if (communicator.rank() == 0) {
    auto opened = Reports::open(*session, options.prepare.warn, options.host);
    if (opened) {
      reports = *std::move(opened);
    } else {
      unwritable = std::move(opened).error();
    }
  }
  if (auto error = agree(communicator, std::move(unwritable))) return *std::move(error);
  if (communicator.rank() == 0) announce(options, *session, communicator.name(), reports);

  Activity unwatched;
  Activity& activity = session->activity != nullptr ? *session->activity : unwatched;
  activity.set_step(session->position.step);
  activity.enter(RankPhase::between);
  options.on_clock(measure_clock(communicator, clock_identity()));
  auto status = Training(options, communicator, activity, *session, reports).run();
  activity.enter(RankPhase::end);
  if (auto by = taken_over(fence, communicator)) {
    return report_taken_over(*std::move(by), session->position);
  }
  TrainReport report{.status = status ? *status : TrainStatus::failed,
                     .position = session->position};
  if (!status) report.error = std::move(status).error();
  reports.end(to_string(report.status), seconds_since(start));
  return report;
}

}  // namespace dllaunch
