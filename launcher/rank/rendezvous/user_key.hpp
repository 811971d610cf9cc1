// A key that all programs of one user can read and nobody else: where nothing better is agreed on.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// What to do where the ranks of a start have no key, or not the same.
constexpr const char* token_remedy =
    "before srun: export DLLAUNCH_START_TOKEN=$(uuidgen), or another text of 16 characters or more";

constexpr const char* why_keys_differ =
    "a stranger, or homes or DLLAUNCH_START_TOKEN that differ between the nodes";

/// The bytes of FOLDER/rendezvous.key, which is made where there is none: by several nodes at once,
/// too. bad_request: something else stands there, or others can read or change it, or it cannot be
/// made.
Result<std::string> user_key(const std::string& folder);

}  // namespace dllaunch
