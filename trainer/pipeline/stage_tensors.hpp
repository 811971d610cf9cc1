// Tensors of all stages of a pipeline, together on its first rank: checkpoints have no stages.
#pragma once

#include <string>
#include <vector>

#include "trainer/pipeline/stage_wait.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Collective. The first stage gets the tensors of all, in stage order; of those that several
/// stages have, the first. Other stages get none.
std::vector<Tensor> gather_tensors(const StageWait& stages, std::vector<Tensor> own);

/// Collective. Each stage gets its element of `of_stages`, which only the first stage gives.
std::vector<Tensor> scatter_tensors(const StageWait& stages,
                                    std::vector<std::vector<Tensor>> of_stages);

/// Returns, for each stage, the tensors of `all` whose name `belongs` there; removes them.
template <typename Belongs>
std::vector<std::vector<Tensor>> deal_tensors(std::vector<Tensor>& all, int stages,
                                              const Belongs& belongs) {
  std::vector<std::vector<Tensor>> dealt(static_cast<std::size_t>(stages));
  std::vector<Tensor> left;
  for (Tensor& tensor : all) {
    std::vector<int> owners;
    for (int stage = 0; stage < stages; ++stage) {
      if (belongs(stage, tensor.name)) owners.push_back(stage);
    }
    for (const int owner : owners) {
      const bool last = owner == owners.back();
      dealt[static_cast<std::size_t>(owner)].push_back(last ? std::move(tensor) : tensor);
    }
    if (owners.empty()) left.push_back(std::move(tensor));
  }
  all = std::move(left);
  return dealt;
}

}  // namespace dllaunch
