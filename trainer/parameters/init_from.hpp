// Training that begins with weights from elsewhere: of a safetensors file, by name.
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

/// What became of the tensors of a file.
struct TakenTensors {
  std::size_t taken = 0;
  std::vector<std::string> left_out;  // names of the model, as `skip` asks
};

/// Puts the file's numbers in place of the model's, by name, in the model's types. Names that
/// `skip` selects (name_patterns.hpp) stay as they are in `model` and may be missing or of any
/// shape in `file`. So may counts (i64): PyTorch before 0.4.1 had none.
/// bad_request: missing, unexpected and unfit names, the first ones of each; a pattern that means
/// none. `model` is then as it was.
Result<TakenTensors> take_tensors(std::vector<Tensor>& model, std::vector<Tensor> file,
                                  std::span<const std::string> skip);

/// Parameters and buffers as in `file`. Returns a line for people about it.
/// bad_request: a file that is missing or is none of safetensors, and as take_tensors().
Result<std::string> initialise_from(const std::filesystem::path& file,
                                    std::span<const std::string> skip, const Graph& graph,
                                    Executable& executable, ParameterArenas& arenas);

}  // namespace dllaunch
