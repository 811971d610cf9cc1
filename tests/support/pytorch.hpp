// Whether the distribution's Python has PyTorch.
#pragma once

#include <cstdlib>

namespace dllaunch {

inline constexpr const char* no_pytorch =
    "/usr/bin/python3 cannot import torch: scripts/install-deps --test";

/// Does not import it, which takes seconds.
inline bool has_pytorch() {
  static const bool found =
      std::system(
          "/usr/bin/python3 -c 'from importlib.util import find_spec; "
          "raise SystemExit(find_spec(\"torch\") is None)' 2> /dev/null") == 0;
  return found;
}

}  // namespace dllaunch
