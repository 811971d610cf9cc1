// One answer for all ranks: where one of them cannot go on, none does.
#pragma once

#include <optional>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Collective. Nothing when no rank brings an error; else an Error on every rank: the lowest
/// failing rank gets its own back, the others one of the same kind with an empty `what`, which
/// main prints nothing for.
std::optional<Error> agree(Communicator& communicator, std::optional<Error> mine);

/// What a rank brings to agree().
template <typename T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

}  // namespace dllaunch
