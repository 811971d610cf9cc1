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

/// Sets parameters and buffers from `file`. Returns a line for the log. bad_request if the file is
/// missing or not in safetensors format, or as for take_tensors().
Result<std::string> initialise_from(const std::filesystem::path& file,
                                    std::span<const std::string> skip, const Graph& graph,
                                    Executable& executable, ParameterArenas& arenas);

}  // namespace dllaunch
