// What `auto` came to in a run, kept in choices.json of its folder: a run that is started again
// goes on with it.
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

/// Empty where there is no such file, or one without a choice. bad_request: a file that holds
/// anything else.
Result<Choices> read_choices(const std::filesystem::path& run_dir);

/// unavailable: the file system refuses.
Result<Ok> write_choices(const std::filesystem::path& run_dir, const Choices& choices);

/// Collective: every rank gets rank 0's.
void broadcast(Choices& choices, Communicator& communicator);

}  // namespace dllaunch
