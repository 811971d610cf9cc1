#include "trainer/session/validation.hpp"

#include <cmath>
#include <utility>

#include "trainer/data/loader.hpp"
#include "trainer/parameters/buffers.hpp"
#include "trainer/session/agreement.hpp"

namespace dllaunch {

namespace {

/// validate() with the weights as they are.
Result<Validation> validate_weights(const Session& session, Communicator& communicator) {
  average_buffers(session.graph, *session.executable, *session.replicas);
  const std::int64_t images = session.dataset->size(Split::validation);
  auto slices = deal_validation(images, session.shape, session.replica());
  const std::size_t batches = slices.size();
  const StagePlace place = session.place();
  if (session.pipeline) session.pipeline->links().begin(static_cast<int>(batches), false);
  if (!place.is_first()) slices.clear();
  Loader loader(*session.dataset, session.normalization, {}, std::move(slices),
                loader_options(session, Split::validation));
  const TargetKind judged = session.judged;
  const bool values = judged == TargetKind::values;
  const std::int64_t tokens = session.dataset->tokens();
  Validation measured{.metrics = Metrics(values || tokens > 0 ? 0 : session.dataset->classes(),
                                         judged == TargetKind::class_set)};
  std::optional<Error> error;
  for (std::size_t i = 0; i < batches && (!error || session.in_step()); ++i) {
    auto batch = place.is_first() ? loader.next() : session.pipeline->links().receive_batch();
    if (!batch) {
      error = std::move(batch).error();
      if (!session.in_step()) continue;
      batch = Batch{};  // the other ranks wait for one
    }
    const ForwardResult result = session.executable->forward(*batch, Phase::evaluate);
    if (!place.is_last()) {
      session.pipeline->links().send_batch(*batch, *session.executable);
      continue;
    }
    measured.loss += result.loss_sum;
    measured.images += batch->count;
    if (tokens > 0) {  // a batch has far too many outputs to fetch them
      measured.tokens_right += result.correct;
      continue;
    }
    const std::vector<double> outputs = session.executable->logits();
    if (judged == TargetKind::class_index) {
      const auto rows = static_cast<std::size_t>(batch->count);
      measured.metrics.add(outputs, batch->labels.first(rows));
    } else if (values) {
      measured.errors.add(outputs, batch->targets.first(outputs.size()));
    } else {
      measured.metrics.add_multi_label(outputs, batch->targets.first(outputs.size()));
    }
  }
  measured.skipped = loader.take_skipped();
  if (auto agreed = agree(communicator, std::move(error))) return *std::move(agreed);
  communicator.wait(communicator.all_reduce(&measured.loss, 1, DType::f64, ReduceOp::sum));
  communicator.wait(communicator.all_reduce(&measured.images, 1, DType::i64, ReduceOp::sum));
  communicator.wait(communicator.all_reduce(&measured.tokens_right, 1, DType::i64, ReduceOp::sum));
  measured.tokens = measured.images * tokens;
  measured.metrics.sum_over_ranks(communicator);
  measured.errors.sum_over_ranks(communicator);
  if (measured.images == 0) {
    return Error{ErrorKind::bad_request, "all validation images are damaged", ""};
  }
  measured.loss /= static_cast<double>(measured.images);
  return measured;
}

}  // namespace

Result<Validation> validate(const Session& session, Communicator& communicator) {
  if (!session.config.average.validate) return validate_weights(session, communicator);
  session.arenas->exchange_average();
  auto measured = validate_weights(session, communicator);
  session.arenas->exchange_average();
  return measured;
}

void tell(const Validation& measured, TargetKind judged, EpochEvent& event) {
  event.val_loss = measured.loss;
  if (judged == TargetKind::values) {
    event.val_mean_absolute_error = measured.errors.mean_absolute_error();
    event.val_mean_squared_error = measured.errors.mean_squared_error();
    return;
  }
  if (measured.tokens > 0) {
    event.val_perplexity = std::exp(measured.loss);
    event.val_accuracy =
        static_cast<double>(measured.tokens_right) / static_cast<double>(measured.tokens);
    return;
  }
  event.val_accuracy = measured.metrics.accuracy();
  event.val_top5_accuracy = measured.metrics.top5_accuracy();
  event.val_f1_macro = measured.metrics.f1_macro();
  if (judged == TargetKind::class_set) event.val_f1_micro = measured.metrics.f1_micro();
}

}  // namespace dllaunch
