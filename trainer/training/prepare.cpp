#include "trainer/training/prepare.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "runtime/communicators/same_table.hpp"
#include "support/counted.hpp"
#include "trainer/config/gpu_gradients.hpp"
#include "trainer/config/loss_choice.hpp"
#include "trainer/data/same_data.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/compiled_model.hpp"
#include "trainer/session/rank_zero_choices.hpp"
#include "trainer/session/sync_batch_norm.hpp"
#include "trainer/training/build_model.hpp"
#include "trainer/training/open_pipeline.hpp"
#include "trainer/training/open_split.hpp"
#include "trainer/training/starting_point.hpp"
#include "trainer/tuning/autotune.hpp"
#include "trainer/tuning/memory_budget.hpp"

namespace dllaunch {
namespace {

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

/// Collective. Before the first step, reads all of the data that only reading shows to be bad, each
/// rank its part. A training that goes on does not: what it reads is checked then, too.
Result<Ok> check_all_data(const Session& session, Communicator& communicator) {
  if (session.config.data.skip_bad || session.position.step > 0) return Ok{};
  auto sound = session.dataset->check(communicator.rank(), communicator.size());
  if (auto error = agree(communicator, error_of(sound))) return *std::move(error);
  return Ok{};
}

/// Warns if `auto` reduces gradients on the host although a GPU computes them.
void warn_of_host(const Session& session, Executable& executable, const Say& warn) {
  const RuntimeConfig& runtime = session.config.runtime;
  const Communicator& replicas = *session.replicas;
  const bool on_host = replicas.size() > 1 && replicas.memory() == MemorySpace::host;
  if (!on_host || runtime.allreduce != "auto" || executable.device_arenas() == nullptr) return;
  std::string why = session.no_nccl.empty() ? "this build has no nccl for it" : session.no_nccl;
  if (const std::string setting = passes_host(runtime); !setting.empty()) {
    why = setting + " needs gradients on the host";
  }
  const double bytes = static_cast<double>(session.graph.parameter_count()) * sizeof(float);
  const bool staged = session.pipeline != nullptr;
  warn(fmt::format(
      "{}gradients are summed on the host although GPUs compute them: {}; every step copies {:.1f} "
      "MiB of gradients from each GPU and as many of weights to it, and CPUs run the optimiser",
      staged ? fmt::format("stage {}: ", session.place().stage + 1) : "", why, bytes / (1 << 20)));
}

/// Collective. `warn` hears what concerns this rank alone, `warn_once` what concerns all.
Result<Ok> compile(Session& session, const Say& warn, const Say& warn_once) {
  Communicator& replicas = *session.replicas;
  RankZeroChoices choices(replicas);  // other stages have other layers
  CompileSurroundings surroundings{
      .choices = &choices,
      .warn = warn,
      .parts = session.parts,
      .split_ranks = {.communicator = &replicas, .activity = session.activity}};
  if (session.config.sync_batch_norm) {
    surroundings.sum_over_ranks = sum_over_ranks(replicas, session.activity);
  }
  auto compiled = compile_model(session.config, session.graph, session.threads, surroundings);
  choices.attend();
  if (!compiled) return std::move(compiled).error();
  surroundings.choices = nullptr;
  session.opened = std::move(compiled->opened);
  if (auto more = compile_for_flight(session, surroundings); !more) return more;
  session.backend = std::move(compiled->backend);
  if (replicas.memory() == MemorySpace::gpu) {
    std::string why = passes_host(session.config.runtime);
    if (!why.empty()) why += " needs gradients on the host";
    if (!compiled->gpu_memory) why = session.backend + " has its parameters on the host";
    if (!why.empty() && session.config.runtime.allreduce == "auto") {
      replicas.use_host_memory();
    } else if (!why.empty()) {
      return Error{ErrorKind::bad_request,
                   fmt::format("communicator {} reduces memory of a GPU, {}", replicas.name(), why),
                   "use runtime.allreduce: auto"};
    }
  }
  session.passed_over = compiled->passed_over;
  if (!compiled->passed_over.empty()) {
    warn_once(
        fmt::format("{}; {} computes, which is slower", compiled->passed_over, session.backend));
  }
  if (!compiled->caution.empty()) warn_once(compiled->caution);
  if (replicas.rank() == 0) warn_of_host(session, *compiled->executable, warn);
  session.executable = std::move(compiled->executable);
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
  auto graph = build_model(session.config, data_shape(*session.dataset, session.config));
  if (!graph) return std::move(graph).error();
  session.graph = *std::move(graph);
  session.judged = judged_as(session.graph.loss, session.dataset->targets());
  return check_samples(session);
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
  auto compiled = compile(session, warn, communicator.rank() == 0 ? warn : unsaid);
  if (auto error = agree(communicator, error_of(compiled))) return *std::move(error);

  auto alike = check_same_backend(session, warn, communicator);
  if (auto error = agree(communicator, error_of(alike))) return *std::move(error);
  session.image_memory = rank_memory_left(options.ranks_on_node);
  auto room = check_image_memory(session);
  if (auto error = agree(communicator, error_of(room))) return *std::move(error);
  const std::string remark = session.executable->remark();
  if (communicator.rank() == 0 && !remark.empty()) warn(remark);
  const auto rows = table_rows(*session.executable);
  const StagePlace place = session.place();
  auto same =
      check_same_table(*session.replicas, rows, {.first_rank = place.stage * place.replicas});
  if (auto error = agree(communicator, error_of(same))) return *std::move(error);

  ArenaOptions arenas = arena_options(config, passes_host(config.runtime).empty());
  if (session.pipeline) {
    arenas.sum_over_stages = [&communicator, replicas = session.replicas->size()](auto values) {
      communicator.wait(
          communicator.all_reduce(values.data(), values.size(), DType::f64, ReduceOp::sum));
      for (double& value : values) value /= replicas;
    };
    arenas.counted_elsewhere = session.pipeline->counted_before();
  }
  session.arenas = std::make_unique<ParameterArenas>(*session.executable, *session.replicas,
                                                     *find_optimizer(config.optimizer),
                                                     config.optimizer_options, arenas);
  if (session.pipeline) {
    for (const auto& other : session.pipeline->others()) session.arenas->attach(*other);
  }
  if (session.replicas->memory() == MemorySpace::gpu && !session.arenas->on_device()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("optimizer {} does not run on a GPU", config.optimizer),
                 "use runtime.allreduce: auto"};
  }
  session.arenas->freeze(session.graph);
  session.arenas->deal(session.arenas->plan(bucket_bytes(config.runtime)));
  return go_to_start(session, options.storage_patience, warn, communicator);
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
  session.replicas = &communicator;
  session.no_nccl = options.no_nccl;
  session.shape = {
      .ranks = communicator.size() / options.config.runtime.pipeline.stages,
      .batch_size = options.config.batch_size,
      .accumulate = options.config.accumulate,
      .in_step = options.config.sync_batch_norm || splits(options.config, communicator.size()),
      .images = options.config.global_batch};
  auto alone = prepare_alone(session, options);
  if (auto error = agree(communicator, error_of(alone))) return *std::move(error);
  session.shape.same_batches = !session.graph.buffers.empty() && !options.config.sync_batch_norm;
  auto same_data = check_same_data(communicator, *session.dataset, session.normalization);
  if (auto error = agree(communicator, error_of(same_data))) return *std::move(error);
  auto choices = earlier_choices(session, communicator);
  if (!choices) return std::move(choices).error();
  if (auto settled = settle_batch_size(session, *choices, options, communicator); !settled) {
    return std::move(settled).error();
  }
  if (session.stopped) return session;
  const bool finds_rate = options.config.find.lr && !choices->lr;
  if (options.config.find.lr && choices->lr) take_rate(session.config, *choices->lr);
  if (auto piped = open_pipeline(session, options, communicator); !piped) {
    return std::move(piped).error();
  }
  if (auto split = open_split(session, options, communicator); !split) {
    return std::move(split).error();
  }
  if (auto opened = open_training(session, options, communicator); !opened) {
    return std::move(opened).error();
  }
  if (auto sound = check_all_data(session, communicator); !sound) return std::move(sound).error();
  if (!finds_rate) return session;
  if (auto settled = settle_rate(session, *choices, options, communicator); !settled) {
    return std::move(settled).error();
  }
  if (session.stopped) return session;
  // Undoes the trials.
  const Say nothing_new = [](std::string_view) {};
  auto filled = go_to_start(session, options.storage_patience, nothing_new, communicator);
  return filled ? Result<Session>(std::move(session)) : std::move(filled).error();
}

}  // namespace dllaunch
