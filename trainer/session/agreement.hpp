// One result for all ranks: if one fails, all do.
#pragma once

#include <optional>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Collective. Returns nullopt if no rank has an error. Otherwise every rank gets an Error: the
/// lowest failing rank its own, the others one of the same kind with an empty `what`, which main()
/// does not print.
std::optional<Error> agree(Communicator& communicator, std::optional<Error> mine);

/// The argument of agree() for a Result.
template <typename T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

}  // namespace dllaunch
