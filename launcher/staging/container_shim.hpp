// What starts a rank inside a container's image, which has none of dllaunch's libraries.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Copies this program, the libraries that it has loaded and its loader to `folder`, which is
/// created: dllaunch, lib*.so*, ld.so. `ld.so --library-path FOLDER FOLDER/dllaunch` starts the
/// copy. unavailable: a file cannot be copied.
Result<Ok> copy_container_shim(const std::string& folder);

}  // namespace dllaunch
