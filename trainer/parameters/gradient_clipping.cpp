// Gradient clipping by the norm of all gradients (Pascanu, Mikolov, Bengio 2013, section 3.2).
#include <cmath>
#include <numeric>

#include "trainer/parameters/arena_visits.hpp"

namespace dllaunch {

/// Of the slots that are split, or of the others.
double ParameterArenas::square_sum_of_gradients(bool split) {
  double sum = 0;
  for (const Own& own : own_parts()) {
    if (device_optimizer_ != nullptr) {
      std::vector<SquareSums> sums(layout_.offset.size());
      visit_runs(own, [&](const ArenaPart& part, const Own&) {
        device_optimizer_->square_sums(part, sums);
      });
      for (std::size_t slot = 0; slot < sums.size(); ++slot) {
        const bool counts = !counted_elsewhere_[slot] && is_split(slot) == split;
        if (counts) sum += sums[slot].gradients;
      }
      continue;
    }
    // Parts of a fixed size, summed in their order: the threads do not change the bits.
    SharedUpdate shared(bytes_of(layout_.type));
    visit_pieces(own, [&](std::size_t slot, const ParameterUpdate& piece) {
      if (!counted_elsewhere_[slot] && is_split(slot) == split) shared.add(piece);
    });
    std::vector<double> sums(static_cast<std::size_t>(shared.parts()));
    executable_.parallel_for(shared.parts(), [&](int index) {
      const ParameterUpdate part = shared.part(index);
      sums[static_cast<std::size_t>(index)] =
          square_sum(layout_.type, part.gradients, part.elements);
    });
    sum = std::accumulate(sums.begin(), sums.end(), sum);
  }
  return sum;
}

double ParameterArenas::gradient_norm() {
  const auto over_ranks = [&](double sum) {
    communicator_.wait(communicator_.all_reduce(&sum, 1, DType::f64, ReduceOp::sum));
    return sum;
  };
  double sum = square_sum_of_gradients(/*split=*/false);
  if (shard_) sum = over_ranks(sum);
  if (split()) sum += over_ranks(square_sum_of_gradients(/*split=*/true));
  if (sum_over_stages_) sum_over_stages_({&sum, 1});
  return std::sqrt(sum);
}

void ParameterArenas::clip_gradients(double most) {
  constexpr double rounding = 1e-6;  // PyTorch's
  const double factor = most / (gradient_norm() + rounding);
  if (!(factor < 1)) return;  // also if the norm is not a number
  for (const Own& own : own_parts()) {
    if (device_optimizer_ != nullptr) {
      visit_runs(own, [&](const ArenaPart& part, const Own&) {
        device_optimizer_->multiply_gradients(part, static_cast<float>(factor));
      });
      continue;
    }
    SharedUpdate shared(bytes_of(layout_.type));
    visit_pieces(own, [&](std::size_t, const ParameterUpdate& piece) { shared.add(piece); });
    executable_.parallel_for(shared.parts(), [&](int index) {
      const ParameterUpdate part = shared.part(index);
      multiply(layout_.type, part.gradients, part.elements, factor);
    });
  }
}

}  // namespace dllaunch
