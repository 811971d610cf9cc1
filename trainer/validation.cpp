#include "trainer/validation.hpp"

#include <utility>

#include "trainer/agreement.hpp"
#include "trainer/buffers.hpp"
#include "trainer/loader.hpp"

namespace dllaunch {

Result<Validation> validate(const Session& session, Communicator& communicator) {
  average_buffers(session.graph, *session.executable, communicator);
  const std::int64_t images = session.dataset->size(Split::validation);
  auto slices = deal_validation(images, session.shape, communicator.rank());
  const std::size_t batches = slices.size();
  Loader loader(*session.dataset, session.normalization, {}, std::move(slices),
                loader_options(session, Split::validation));
  Validation measured{.metrics = Metrics(session.dataset->classes())};
  std::optional<Error> error;
  for (std::size_t i = 0; i < batches && !error; ++i) {
    auto batch = loader.next();
    if (!batch) {
      error = std::move(batch).error();
      continue;
    }
    measured.loss += session.executable->forward(*batch, Phase::evaluate).loss_sum;
    measured.metrics.add(session.executable->logits(),
                         batch->labels.first(static_cast<std::size_t>(batch->count)));
  }
  measured.skipped = loader.take_skipped();
  if (auto agreed = agree(communicator, std::move(error))) return *std::move(agreed);
  communicator.wait(communicator.all_reduce(&measured.loss, 1, DType::f64, ReduceOp::sum));
  measured.metrics.sum_over_ranks(communicator);
  const std::int64_t good = measured.metrics.images();
  if (good == 0) return Error{ErrorKind::bad_request, "all validation images are bad", ""};
  measured.loss /= static_cast<double>(good);
  return measured;
}

}  // namespace dllaunch
