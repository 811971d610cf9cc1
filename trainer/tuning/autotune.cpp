#include "trainer/tuning/autotune.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "trainer/optimizers/schedule.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/tuning/batch_size.hpp"
#include "trainer/tuning/lr_range_test.hpp"
#include "trainer/tuning/memory_budget.hpp"

namespace dllaunch {
namespace {

/// Replaces `auto` in the settings by the number found.
void settle(TrainConfig& config, std::string_view key, double value) {
  for (auto& setting : config.settings) {
    if (setting.name == key) setting.value = value;
  }
}

Result<std::optional<int>> measure_batch_size(const Session& session, const PrepareOptions& options,
                                              Communicator& communicator) {
  const std::int64_t budget = rank_memory_left(options.ranks_on_node);
  return find_batch_size(session, {.budget = budget}, communicator, options);
}

/// Collective. unavailable: rank 0 cannot write.
Result<Ok> keep(const Choices& choices, const Session& session, Communicator& communicator) {
  std::optional<Error> error;
  if (communicator.rank() == 0) error = error_of(write_choices(session.run_dir, choices));
  if (auto agreed = agree(communicator, std::move(error))) return *std::move(agreed);
  return Ok{};
}

}  // namespace

Result<Choices> earlier_choices(const Session& session, Communicator& communicator) {
  Choices choices;
  if (!session.config.find.batch_size && !session.config.find.lr) return choices;
  std::optional<Error> error;
  if (communicator.rank() == 0 && session.config.resume != "none") {
    auto read = read_choices(session.run_dir);
    if (read) choices = *read;
    error = error_of(read);
  }
  if (auto agreed = agree(communicator, std::move(error))) return *std::move(agreed);
  broadcast(choices, communicator);
  return choices;
}

Result<Ok> settle_batch_size(Session& session, Choices& choices, const PrepareOptions& options,
                             Communicator& communicator) {
  TrainConfig& config = session.config;
  if (config.find.batch_size) {
    if (!choices.batch_size) {
      auto found = measure_batch_size(session, options, communicator);
      if (!found) return std::move(found).error();
      session.stopped = !*found;
      if (session.stopped) return Ok{};
      choices.batch_size = *found;
      if (auto kept = keep(choices, session, communicator); !kept) return kept;
    }
    config.batch_size = *choices.batch_size;
    settle(config, "batch_size", config.batch_size);
  }
  session.shape.batch_size = config.batch_size;
  return Ok{};
}

void take_rate(TrainConfig& config, double rate) {
  config.optimizer_options.lr = rate;
  settle(config, "optimizer.lr", rate);
}

Result<Ok> settle_rate(Session& session, Choices& choices, const PrepareOptions& options,
                       Communicator& communicator) {
  auto found = find_rate(session, {}, communicator, options);
  if (!found) return std::move(found).error();
  session.stopped = !*found;
  if (session.stopped) return Ok{};
  // The trials used the whole global batch, but lr is given for one rank and scaled by the
  // schedule.
  const ScheduleOptions scaled_only{.scaling = session.config.schedule.scaling};
  choices.lr = **found / learning_rate(scaled_only, 1, session.shape.worth_ranks(), 1, 1);
  if (auto kept = keep(choices, session, communicator); !kept) return kept;
  take_rate(session.config, *choices.lr);
  return Ok{};
}

}  // namespace dllaunch
