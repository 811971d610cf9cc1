// The table of kernels: the functors that launch() accepts. To add one, list it here. Functors of
// layers and losses follow from their tables; those of optimisers are in optimizer_launches.hpp.
#pragma once

#include <variant>

#include "support/type_list.hpp"
#include "trainer/backends/gpu/kernels/attention_functors.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/image_functors.hpp"
#include "trainer/backends/gpu/kernels/loss_functors.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/backends/gpu/kernels/optimizer_functors.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"
#include "trainer/backends/gpu/kernels/token_functors.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {

/// Each functor with each storage type of activations.
template <template <typename> typename... Functors>
using OfEachType = decltype((TypeList<>{} + ... +
                             TypeList<Functors<float>, Functors<BFloat16>, Functors<Float16>>{}));

template <typename Kind, typename T>
constexpr auto of_layer() {
  if constexpr (requires { LayerKernels<Kind, T>::forward; }) {
    return TypeList<decltype(LayerKernels<Kind, T>::forward({}, {})),
                    decltype(LayerKernels<Kind, T>::backward({}, {}))>{};
  } else {
    return TypeList<>{};
  }
}
template <typename... Kinds>
constexpr auto of_layers(std::variant<Kinds...>*) {
  return (TypeList<>{} + ... +
          (of_layer<Kinds, float>() + of_layer<Kinds, BFloat16>() + of_layer<Kinds, Float16>()));
}

template <typename Loss>
struct OfLoss {
  template <typename T>
  using Grads = LossGrads<Loss, T>;
  using Kernels = decltype(TypeList<LossRows<Loss>>{} + OfEachType<Grads>{});
};
template <typename... Listed>
constexpr auto of_losses(TypeList<Listed...>) {
  return (TypeList<>{} + ... + typename OfLoss<Listed>::Kernels{});
}

using Kernels = decltype(
    of_layers(static_cast<Operation*>(nullptr)) + of_losses(Losses{}) +
    OfEachType<SumOfTwo, AddBias, Drop, PrepareImages, FindNonFinite, ChunkMoments, NormForward,
               ChunkGradSums, NormBackward, MoveElements, SumOverSamples, EmbedTokens,
               EmbeddingGrads, RowMoments, RowNormForward, RowGradMeans, RowNormBackward,
               ChunkRowGradSums, SplitHeads, JoinHeads, SoftmaxWeights, SoftmaxGradSums,
               SoftmaxGrads>{} +
    TypeList<Convert<float, float>, Convert<float, BFloat16>, Convert<float, Float16>,
             Convert<BFloat16, float>, Convert<Float16, float>, Convert<BFloat16, BFloat16>,
             Convert<Float16, Float16>, ToChannelsLast<float, float>,
             ToChannelsLast<float, BFloat16>, ToChannelsLast<float, Float16>,
             ToChannelsLast<BFloat16, BFloat16>, ToChannelsLast<Float16, Float16>,
             ToChannelsFirst<BFloat16, float>, ToChannelsFirst<Float16, float>, JoinMoments<double>,
             TakeMoments<double>, TakeRunning<double>, JoinSums<double>, TakeMeans<double>,
             LargestOutputs, FindOccurrences, SoftmaxRows, MultiplyGradients, MoveTowards,
             SquareParts<double>, JoinSquares<double>>{});

}  // namespace dllaunch::gpu
