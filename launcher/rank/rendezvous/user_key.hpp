// A key readable by all programs of one user only, used if no other secret is agreed on.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Hint for ranks of a start without a key, or with different keys.
constexpr const char* token_remedy =
    "before srun: export DLLAUNCH_START_TOKEN=$(uuidgen), or another text of 16 characters or more";

constexpr const char* why_keys_differ =
    "an unknown process, or home directories or DLLAUNCH_START_TOKEN that differ between the nodes";

/// Returns the content of FOLDER/rendezvous.key; creates it if missing, safely from several nodes
/// at once. bad_request: the file is invalid or accessible to others, or cannot be created.
Result<std::string> user_key(const std::string& folder);

}  // namespace dllaunch
