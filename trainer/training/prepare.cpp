#include "trainer/training/prepare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "runtime/communicators/same_table.hpp"
#include "support/counted.hpp"
#include "trainer/config/gpu_gradients.hpp"
#include "trainer/config/loss_choice.hpp"
#include "trainer/data/image_preparation.hpp"
#include "trainer/data/same_data.hpp"
#include "trainer/graph/frozen_parameters.hpp"
#include "trainer/graph/layer_list.hpp"
#include "trainer/graph/zero_gamma.hpp"
#include "trainer/models/models.hpp"
#include "trainer/parameters/buffers.hpp"
#include "trainer/parameters/init_from.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/compiled_model.hpp"
#include "trainer/session/rank_zero_choices.hpp"
#include "trainer/session/sync_batch_norm.hpp"
#include "trainer/tuning/autotune.hpp"
#include "trainer/tuning/memory_budget.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

Result<Graph> build_network(const TrainConfig& config, const ModelEntry* model,
                            const Dataset& dataset) {
  const ImageShape shape = prepared_shape(dataset.image_shape(), config.data.image_size);
  if (model != nullptr) return model->build(shape, dataset.classes());
  return build_layer_list(Json::parse(config.layers), shape, dataset.classes());
}

Result<Graph> build_model(const TrainConfig& config, const Dataset& dataset) {
  const ModelEntry* model = find_model(config.model);
  if (model == nullptr && config.layers.empty()) {
    return Error{ErrorKind::bad_request, "no model " + config.model, ""};
  }
  auto loss = choose_loss(config, model == nullptr ? "" : model->loss, dataset.targets());
  if (!loss) return std::move(loss).error();
  auto graph = build_network(config, model, dataset);
  if (!graph) return graph;
  graph->loss = *std::move(loss);
  Result<Ok> changed = config.sync_batch_norm ? check_batch_norm(*graph) : Ok{};
  if (changed && config.zero_gamma) changed = zero_last_gammas(*graph);
  if (changed) changed = freeze_parameters(*graph, config.fine_tuning.freeze);
  return changed ? std::move(graph) : std::move(changed).error();
}

/// What data set and network must have in common, and what the settings need of the data.
Result<Ok> check_samples(const Session& session) {
  const Dataset& dataset = *session.dataset;
  const TrainConfig& config = session.config;
  const bool tokens = dataset.tokens() > 0;
  const bool takes_tokens = session.graph.input_shape().size() == 1;
  if (tokens != takes_tokens || session.graph.labels() != session.labels()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("model {} takes {} and predicts {} for each, data set {} has {}",
                             config.model, takes_tokens ? "tokens" : "images",
                             counted(session.graph.labels(), "label"), config.dataset,
                             tokens ? fmt::format("sequences of {} tokens", dataset.tokens())
                                    : std::string("images with one label")),
                 tokens ? "use a model that predicts each next token, such as gpt2"
                        : "use dataset kind tokens, or kind synthetic with a sequence"};
  }
  if (config.validate_every > 0 && dataset.size(Split::validation) == 0) {
    return Error{ErrorKind::bad_request,
                 config.data.path + ": there are no validation shards beside those for training",
                 "name them *val*.bin like *train*.bin, or set validate_every: 0"};
  }
  return Ok{};
}

/// Collective. Reads all of the data that only reading shows to be bad, each rank its part.
Result<Ok> check_all_data(const Session& session, Communicator& communicator) {
  if (session.config.data.skip_bad) return Ok{};
  auto sound = session.dataset->check(communicator.rank(), communicator.size());
  if (auto error = agree(communicator, error_of(sound))) return *std::move(error);
  return Ok{};
}

/// Warns if `auto` reduces gradients on the host although a GPU computes them.
void warn_of_host(const Session& session, Executable& executable, std::string why, const Say& warn,
                  const Communicator& communicator) {
  const RuntimeConfig& runtime = session.config.runtime;
  const bool on_host = communicator.size() > 1 && communicator.memory() == MemorySpace::host;
  if (!on_host || runtime.allreduce != "auto" || executable.device_arenas() == nullptr) return;
  if (why.empty()) why = "this build has no nccl for it";
  if (const std::string setting = passes_host(runtime); !setting.empty()) {
    why = setting + " needs gradients on the host";
  }
  const double bytes = static_cast<double>(session.graph.parameter_count()) * sizeof(float);
  warn(fmt::format(
      "gradients are summed on the host although GPUs compute them: {}; every step copies {:.1f} "
      "MiB of gradients from each GPU and as many of weights to it, and CPUs run the optimiser",
      why, bytes / (1 << 20)));
}

/// Collective. `warn` hears what concerns this rank alone, `warn_once` what concerns all.
Result<Ok> compile(Session& session, const Say& warn, const Say& warn_once,
                   const std::string& no_nccl, Communicator& communicator) {
  RankZeroChoices choices(communicator);
  CompileSurroundings surroundings{.choices = &choices, .warn = warn};
  if (session.config.sync_batch_norm) {
    surroundings.sum_over_ranks = sum_over_ranks(communicator, session.activity);
  }
  auto compiled = compile_model(session.config, session.graph, session.threads, surroundings);
  choices.attend();
  if (!compiled) return std::move(compiled).error();
  session.backend = std::move(compiled->backend);
  if (communicator.memory() == MemorySpace::gpu) {
    std::string why = passes_host(session.config.runtime);
    if (!why.empty()) why += " needs gradients on the host";
    if (!compiled->gpu_memory) why = session.backend + " has its parameters on the host";
    if (!why.empty() && session.config.runtime.allreduce == "auto") {
      communicator.use_host_memory();
    } else if (!why.empty()) {
      return Error{
          ErrorKind::bad_request,
          fmt::format("communicator {} reduces memory of a GPU, {}", communicator.name(), why),
          "use runtime.allreduce: auto"};
    }
  }
  session.passed_over = compiled->passed_over;
  if (!compiled->passed_over.empty()) {
    warn_once(
        fmt::format("{}; {} computes, which is slower", compiled->passed_over, session.backend));
  }
  if (!compiled->caution.empty()) warn_once(compiled->caution);
  warn_of_host(session, *compiled->executable, no_nccl, warn_once, communicator);
  session.executable = std::move(compiled->executable);
  session.opened = std::move(compiled->opened);
  return Ok{};
}

/// Copies the data set to local storage and replaces its path by the copy's.
Result<Ok> stage(Session& session, const PrepareOptions& options) {
  TrainConfig& config = session.config;
  if (config.stage_to.empty()) return Ok{};
  auto staged =
      stage_dataset({.from = config.data.path, .to = config.stage_to, .say = options.say});
  if (staged) {
    config.data.path = staged->path.string();
    session.staged = *std::move(staged);
    return Ok{};
  }
  Error error = std::move(staged).error().within("dataset.stage_to");
  if (config.stage_or_stop) return error;
  options.warn(error.what + "; " + config.data.path + " is read in place");
  return Ok{};
}

/// The part that needs no other rank.
Result<Ok> prepare_alone(Session& session, const PrepareOptions& options) {
  if (auto staged = stage(session, options); !staged) return staged;
  auto dataset = find_dataset(session.config.dataset)->open(session.config.data);
  if (!dataset) return std::move(dataset).error();
  session.dataset = *std::move(dataset);
  auto normalization = measure_normalization(*session.dataset, session.config.data.skip_bad);
  if (!normalization) return std::move(normalization).error();
  session.normalization = *std::move(normalization);
  auto graph = build_model(session.config, *session.dataset);
  if (!graph) return std::move(graph).error();
  session.graph = *std::move(graph);
  session.judged = judged_as(session.graph.loss, session.dataset->targets());
  return check_samples(session);
}

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
  using Clock = std::chrono::steady_clock;
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

/// Initialises from the seed, or from the file in `init_from`.
Result<Ok> begin_anew(Session& session) {
  session.arenas->initialise(session.graph, session.config.seed);
  initialise_buffers(session.graph, *session.executable);
  const FineTuningConfig& tuning = session.config.fine_tuning;
  if (tuning.init_from.empty()) return Ok{};
  auto started = initialise_from(tuning.init_from, tuning.init_skip, session.graph,
                                 *session.executable, *session.arenas);
  if (!started) return std::move(started).error().within("train.init_from");
  session.started_with = *std::move(started);
  return Ok{};
}

/// Rank 0: sets weights, state and position, from a checkpoint or to their initial values.
Result<Ok> fill(Session& session, std::chrono::milliseconds patience, const Say& warn) {
  if (session.fence != nullptr) {
    if (auto ours = session.fence->check(); !ours) return ours;
  }
  remove_leftovers(session.checkpoints(), session.fencing_token());
  auto chosen = choose_checkpoint(session, patience, warn);
  if (!chosen) return std::move(chosen).error();
  if (!*chosen) return begin_anew(session);

  auto& [path, checkpoint] = **chosen;
  auto fits = check_fit(session, checkpoint);
  if (!fits) return std::move(fits).error().within(path.string());
  auto weights = take_buffers(session.graph, *session.executable, checkpoint.weights.tensors);
  if (weights) weights = session.arenas->load_weights(checkpoint.weights.tensors);
  if (!weights) {
    return std::move(weights).error().within((path / "model.safetensors").string());
  }
  auto states = session.arenas->load_states(checkpoint.states.tensors);
  if (!states) {
    return std::move(states).error().within((path / "optimizer.safetensors").string());
  }
  session.position = checkpoint.position;
  session.resumed_from = path.string();
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

/// Collective. Sets the initial weights, state and position of the training.
Result<Ok> fill_all(Session& session, std::chrono::milliseconds patience, const Say& warn,
                    Communicator& communicator) {
  std::optional<Error> unfilled;
  if (communicator.rank() == 0) {
    unfilled = error_of(fill(session, patience, warn));
  }
  if (auto error = agree(communicator, std::move(unfilled))) return *std::move(error);
  session.arenas->broadcast();
  broadcast_buffers(session.graph, *session.executable, communicator);
  broadcast_position(session.position, communicator);
  if (session.position.step == 0) session.arenas->begin_average();
  return Ok{};
}

/// Collective. With `auto`, a rank that cannot use its GPU would compute on the CPU and slow down
/// every step.
Result<Ok> check_same_backend(const Session& session, const Say& warn, Communicator& communicator) {
  const std::array rows{"backend " + session.backend};
  auto same = check_same_table(communicator, rows,
                               {.table = "what computes",
                                .row = "backend",
                                .hint = "with resources.device cpu all compute on CPUs"});
  // Only that rank knows the reason.
  if (!same && communicator.rank() > 0 && !session.passed_over.empty()) {
    warn(fmt::format("rank {}: {}", communicator.rank(), session.passed_over));
  }
  return same;
}

/// Collective. Makes the session ready to train, once the batch size is known.
Result<Ok> open_training(Session& session, const PrepareOptions& options,
                         Communicator& communicator) {
  const Say& warn = options.warn;
  const TrainConfig& config = session.config;
  const Say unsaid = [](std::string_view) {};
  auto compiled = compile(session, warn, communicator.rank() == 0 ? warn : unsaid, options.no_nccl,
                          communicator);
  if (auto error = agree(communicator, error_of(compiled))) return *std::move(error);

  auto alike = check_same_backend(session, warn, communicator);
  if (auto error = agree(communicator, error_of(alike))) return *std::move(error);
  session.image_memory = rank_memory_left(options.ranks_on_node);
  auto room = check_image_memory(session);
  if (auto error = agree(communicator, error_of(room))) return *std::move(error);
  const std::string remark = session.executable->remark();
  if (communicator.rank() == 0 && !remark.empty()) warn(remark);
  const auto rows = table_rows(*session.executable);
  auto same = check_same_table(communicator, rows);
  if (auto error = agree(communicator, error_of(same))) return *std::move(error);

  session.arenas = std::make_unique<ParameterArenas>(
      *session.executable, communicator, *find_optimizer(config.optimizer),
      config.optimizer_options, arena_options(config, passes_host(config.runtime).empty()));
  if (communicator.memory() == MemorySpace::gpu && !session.arenas->on_device()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("optimizer {} does not run on a GPU", config.optimizer),
                 "use runtime.allreduce: auto"};
  }
  session.arenas->freeze(session.graph);
  session.arenas->deal(session.arenas->plan(bucket_bytes(config.runtime)));
  return fill_all(session, options.storage_patience, warn, communicator);
}

}  // namespace

Result<Session> prepare(const PrepareOptions& options, Communicator& communicator) {
  Session session;
  session.config = options.config;
  session.run_dir = options.run_dir;
  session.threads = options.threads;
  session.cpus = options.cpus;
  session.activity = options.activity;
  session.fence = communicator.rank() == 0 ? options.fence : nullptr;
  session.shape = {.ranks = communicator.size(),
                   .batch_size = options.config.batch_size,
                   .accumulate = options.config.accumulate,
                   .in_step = options.config.sync_batch_norm,
                   .images = options.config.global_batch};
  auto alone = prepare_alone(session, options);
  if (auto error = agree(communicator, error_of(alone))) return *std::move(error);
  session.shape.same_batches = !session.graph.buffers.empty() && !options.config.sync_batch_norm;
  auto same_data = check_same_data(communicator, *session.dataset, session.normalization);
  if (auto error = agree(communicator, error_of(same_data))) return *std::move(error);
  if (auto sound = check_all_data(session, communicator); !sound) return std::move(sound).error();
  auto choices = earlier_choices(session, communicator);
  if (!choices) return std::move(choices).error();
  if (auto settled = settle_batch_size(session, *choices, options, communicator); !settled) {
    return std::move(settled).error();
  }
  if (session.stopped) return session;
  const bool finds_rate = options.config.find.lr && !choices->lr;
  if (options.config.find.lr && choices->lr) take_rate(session.config, *choices->lr);
  if (auto opened = open_training(session, options, communicator); !opened) {
    return std::move(opened).error();
  }
  if (!finds_rate) return session;
  if (auto settled = settle_rate(session, *choices, options, communicator); !settled) {
    return std::move(settled).error();
  }
  if (session.stopped) return session;
  // Undoes the trials.
  const Say nothing_new = [](std::string_view) {};
  auto filled = fill_all(session, options.storage_patience, nothing_new, communicator);
  return filled ? Result<Session>(std::move(session)) : std::move(filled).error();
}

}  // namespace dllaunch
