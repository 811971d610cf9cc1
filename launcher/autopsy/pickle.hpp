// Reads the values of a Python pickle, and only those: what would name, make or call something is
// refused, so nothing is ever executed.
#pragma once

#include <string_view>

#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Dictionaries become objects (numbers as keys their text), lists and tuples arrays. Of protocols
/// 2 to 5, the operations that PyTorch's flight recorder needs, and `pickle.dump` for such values
/// (Python's pickletools describes them). bad_request: damaged, something else, or its
/// values would fill 128 MiB.
Result<Json> read_pickle(std::string_view bytes);

}  // namespace dllaunch
