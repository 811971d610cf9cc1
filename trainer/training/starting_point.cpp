#include "trainer/training/starting_point.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "support/awake_clock.hpp"
#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/parameters/buffers.hpp"
#include "trainer/parameters/init_from.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/model_tensors.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Searches the folder that contains the steps of `path`, which is a run, a `checkpoints` folder or
/// a step.
CheckpointSearch search_path(const fs::path& path) {
  std::error_code unknown;
  if (fs::exists(path / "state.json", unknown)) {
    auto checkpoint = read_checkpoint(path);
    if (checkpoint) return {FoundCheckpoint{path, *std::move(checkpoint)}, {}, {}};
    if (checkpoint.error().kind != ErrorKind::unavailable)
      return {std::nullopt, {{path, checkpoint.error().what}}, {}};
    return {std::nullopt, {}, std::move(checkpoint).error().within(path.string())};
  }
  return find_newest_checkpoint(
      fs::is_directory(path / "checkpoints", unknown) ? path / "checkpoints" : path);
}

/// Moves old checkpoints away: the next resume would take them for those of the new run.
Result<Ok> set_aside(const fs::path& folder) {
  std::error_code failed;
  const bool none = list_checkpoints(folder, failed).empty() && !failed;
  if (none) return Ok{};
  fs::path aside;
  for (int i = 1; aside.empty() || fs::exists(aside); ++i) {
    aside = fs::path(folder.string() + fmt::format(".{}", i));
  }
  fs::rename(folder, aside, failed);
  if (!failed) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("cannot move {} aside: {}", folder.string(), failed.message()), ""};
}

/// Repeats `search` for up to `patience` while something is unreadable: a file system may be
/// temporarily away.
CheckpointSearch search_patiently(const std::function<CheckpointSearch()>& search,
                                  std::chrono::milliseconds patience, const Say& warn) {
  using Clock = AwakeClock;
  constexpr std::chrono::milliseconds pause(200);
  const auto give_up_at = Clock::now() + patience;
  CheckpointSearch result = search();
  if (result.unreadable) warn(result.unreadable->what + ": waiting");
  while (result.unreadable && Clock::now() < give_up_at) {
    std::this_thread::sleep_for(pause);
    result = search();
  }
  return result;
}

void tell_refused(const CheckpointSearch& search, Session& session, const Say& warn) {
  session.refused = search.refused;
  for (const auto& refused : search.refused) {
    warn(fmt::format("refused {}: {}", refused.path.string(), refused.why));
  }
}

/// Starting anew would repeat days of training and finally remove the damaged checkpoints.
Error none_is_sound(const CheckpointSearch& search) {
  constexpr std::size_t most_named = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(most_named, search.refused.size()); ++i) {
    list += fmt::format("\n  {}: {}", search.refused[i].path.string(), search.refused[i].why);
  }
  if (search.refused.size() > most_named)
    list += fmt::format("\n  and {} more", search.refused.size() - most_named);
  return {ErrorKind::bad_request, "none of the run's checkpoints is valid:" + list,
          "repair one, or train from the start with train.resume: none, which keeps them aside"};
}

/// Returns nullopt to train from the start.
Result<std::optional<FoundCheckpoint>> choose_checkpoint(Session& session,
                                                         std::chrono::milliseconds patience,
                                                         const Say& warn) {
  const std::string& resume = session.config.resume;
  if (resume == "none") {
    if (auto moved = set_aside(session.checkpoints()); !moved) return std::move(moved).error();
    return std::optional<FoundCheckpoint>();
  }
  // A restarted run resumes from its own checkpoints, wherever it first started from.
  const auto in_run = [&] { return find_newest_checkpoint(session.checkpoints()); };
  auto own = search_patiently(in_run, patience, warn);
  if (own.unreadable) return *std::move(own.unreadable);
  tell_refused(own, session, warn);
  if (own.found) return std::move(own.found);
  if (!own.refused.empty()) return none_is_sound(own);
  if (resume == "auto") return std::optional<FoundCheckpoint>();

  auto other = search_patiently([&] { return search_path(resume); }, patience, warn);
  if (other.unreadable) return *std::move(other.unreadable);
  tell_refused(other, session, warn);
  if (other.found) return std::move(other.found);
  return Error{ErrorKind::bad_request, fmt::format("resume: {} has no valid checkpoint", resume),
               "name a run's directory, its checkpoints/ or one step-NNNNNNNN"};
}

Result<Ok> check_fit(const Session& session, const Checkpoint& checkpoint) {
  const TrainConfig& config = session.config;
  if (checkpoint.model != config.model) {
    return Error{ErrorKind::bad_request,
                 fmt::format("is of model {}, this run trains {}", checkpoint.model, config.model),
                 ""};
  }
  if (checkpoint.optimizer != config.optimizer) {
    return Error{
        ErrorKind::bad_request,
        fmt::format("is of optimizer {}, this run uses {}", checkpoint.optimizer, config.optimizer),
        ""};
  }
  const TrainPosition& at = checkpoint.position;
  const std::int64_t images = session.dataset->size(Split::train);
  if (at.epoch < 0 || at.step < 0 || at.images < 0 || at.images > images) {
    return Error{ErrorKind::bad_request,
                 fmt::format("has seen {} images of its epoch, this run has {}", at.images, images),
                 "resume with the data set it was trained on"};
  }
  return Ok{};
}

/// What a training starts with, on the first rank.
struct StartingPoint {
  enum class From : std::int64_t { seed, file, checkpoint };
  From from = From::seed;
  std::string path = {};             // of the file or the checkpoint
  std::vector<Tensor> weights = {};  // and buffers
  std::vector<Tensor> states = {};   // of the optimiser, from a checkpoint
};

/// Rank 0: chooses where to start, and reads it.
Result<Ok> choose_start(Session& session, std::chrono::milliseconds patience, const Say& warn,
                        StartingPoint& start) {
  if (session.fence != nullptr) {
    if (auto ours = session.fence->check(); !ours) return ours;
  }
  remove_leftovers(session.checkpoints(), session.fencing_token());
  auto chosen = choose_checkpoint(session, patience, warn);
  if (!chosen) return std::move(chosen).error();
  if (!*chosen) {
    start.path = session.config.fine_tuning.init_from;
    if (start.path.empty()) return Ok{};
    auto file = read_safetensors(start.path);
    if (!file) return std::move(file).error().within("train.init_from");
    start.from = StartingPoint::From::file;
    start.weights = std::move(file->tensors);
    return Ok{};
  }
  auto& [path, checkpoint] = **chosen;
  auto fits = check_fit(session, checkpoint);
  if (!fits) return std::move(fits).error().within(path.string());
  start = {.from = StartingPoint::From::checkpoint,
           .path = path.string(),
           .weights = std::move(checkpoint.weights.tensors),
           .states = std::move(checkpoint.states.tensors)};
  session.position = checkpoint.position;
  session.resumed_from = path.string();
  return Ok{};
}

/// Collective over the stages. Replaces the file's tensors by all of the model's, after those of
/// the file.
Result<Ok> take_file(Session& session, StartingPoint& start) {
  std::vector<Tensor> file = std::exchange(start.weights, model_tensors(session));
  if (session.replica() > 0 || !session.place().is_first()) return Ok{};
  auto line =
      take_from(start.path, std::move(file), session.config.fine_tuning.init_skip, start.weights);
  if (!line) return std::move(line).error().within("train.init_from");
  session.started_with = *std::move(line);
  return Ok{};
}

/// Fills this rank's part of the model from tensors that were dealt to it.
Result<Ok> load(Session& session, StartingPoint& start) {
  const bool resumes = start.from == StartingPoint::From::checkpoint;
  const auto within = [&](Error error, std::string_view file) {
    return resumes ? std::move(error).within((fs::path(start.path) / file).string())
                   : std::move(error).within(start.path);
  };
  auto weights = take_buffers(session.graph, *session.executable, start.weights);
  if (weights) weights = session.arenas->load_weights(start.weights);
  if (!weights) return within(std::move(weights).error(), "model.safetensors");
  if (!resumes) return Ok{};
  auto states = session.arenas->load_states(start.states);
  if (!states) return within(std::move(states).error(), "optimizer.safetensors");
  return Ok{};
}

void broadcast_position(TrainPosition& position, Communicator& communicator) {
  std::array<std::int64_t, 8> words{position.epoch,
                                    position.step,
                                    position.images,
                                    std::bit_cast<std::int64_t>(position.loss_sum),
                                    position.correct,
                                    std::bit_cast<std::int64_t>(position.lr),
                                    std::bit_cast<std::int64_t>(position.loss_scale.factor),
                                    position.loss_scale.good_steps};
  communicator.wait(communicator.broadcast(words.data(), words.size(), DType::i64, /*root=*/0));
  position = {.epoch = words[0],
              .step = words[1],
              .images = words[2],
              .loss_sum = std::bit_cast<double>(words[3]),
              .correct = words[4],
              .lr = std::bit_cast<double>(words[5]),
              .loss_scale = {.factor = std::bit_cast<double>(words[6]), .good_steps = words[7]}};
}

/// Collective. All learn where rank 0 starts.
void tell_start(StartingPoint& start, Communicator& communicator) {
  std::array words{static_cast<std::int64_t>(start.from), std::ssize(start.path)};
  communicator.wait(communicator.broadcast(words.data(), words.size(), DType::i64, /*root=*/0));
  start.from = static_cast<StartingPoint::From>(words[0]);
  start.path.resize(static_cast<std::size_t>(words[1]));
  communicator.wait(
      communicator.broadcast(start.path.data(), start.path.size(), DType::u8, /*root=*/0));
}

}  // namespace

Result<Ok> go_to_start(Session& session, std::chrono::milliseconds patience, const Say& warn,
                       Communicator& communicator) {
  StartingPoint start;
  std::optional<Error> unfilled;
  if (communicator.rank() == 0) unfilled = error_of(choose_start(session, patience, warn, start));
  if (auto error = agree(communicator, std::move(unfilled))) return *std::move(error);
  tell_start(start, communicator);

  const bool leads = session.replica() == 0;  // the others get what their first replica has
  const bool initialises = leads || session.arenas->split();
  if (initialises && start.from != StartingPoint::From::checkpoint) {
    session.arenas->initialise(session.graph, session.config.seed);
    initialise_buffers(session.graph, *session.executable);
  }
  std::optional<Error> misfit;
  if (start.from == StartingPoint::From::file) {
    misfit = error_of(take_file(session, start));
    if (auto error = agree(communicator, std::move(misfit))) return *std::move(error);
  }
  if (leads && start.from != StartingPoint::From::seed) {
    misfit = error_of(deal_to_stages(session, start.weights, start.states));
    if (misfit) misfit = std::move(*misfit).within(start.path);
    if (!misfit) misfit = error_of(load(session, start));
  }
  if (auto error = agree(communicator, std::move(misfit))) return *std::move(error);
  session.arenas->broadcast();
  broadcast_buffers(session.graph, *session.executable, *session.replicas);
  broadcast_position(session.position, communicator);
  if (session.position.step == 0) session.arenas->begin_average();
  return Ok{};
}

}  // namespace dllaunch
