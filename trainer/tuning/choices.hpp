// Results of `auto` settings, kept in choices.json so that a restarted run keeps them.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct Choices {
  std::optional<int> batch_size = {};  // images per rank, at least 1
  std::optional<double> lr = {};       // above 0
};

/// Returns empty choices if the file is missing or has none. bad_request: a malformed file.
Result<Choices> read_choices(const std::filesystem::path& run_dir);

/// unavailable: an I/O error.
Result<Ok> write_choices(const std::filesystem::path& run_dir, const Choices& choices);

/// Collective. Every rank gets rank 0's choices.
void broadcast(Choices& choices, Communicator& communicator);

}  // namespace dllaunch
