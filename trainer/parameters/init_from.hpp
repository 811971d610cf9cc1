// Initialises weights from a safetensors file, by tensor name (`init_from`).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// The result of take_tensors().
struct TakenTensors {
  std::size_t taken = 0;
  std::vector<std::string> left_out;  // the model's names that were not loaded because of `skip`
};

/// Replaces the model's values by the file's, matched by name and converted to the model's types.
/// Names selected by `skip` (name_patterns.hpp) keep their values and may be missing in `file` or
/// have another shape. For GPT-2 the names of Hugging Face's files without the head are accepted
/// too. Counts (i64) may be missing too: PyTorch before 0.4.1 did not write them.
/// bad_request lists the first few missing, unexpected and mismatched names, or a pattern that
/// matches no name; `model` is then unchanged.
Result<TakenTensors> take_tensors(std::vector<Tensor>& model, std::vector<Tensor> file,
                                  std::span<const std::string> skip);

/// Replaces the model's values by those of `tensors`, which `file` had. Returns a line for the log.
/// bad_request as for take_tensors(), with the file's name.
Result<std::string> take_from(const std::filesystem::path& file, std::vector<Tensor> tensors,
                              std::span<const std::string> skip, std::vector<Tensor>& model);

}  // namespace dllaunch
