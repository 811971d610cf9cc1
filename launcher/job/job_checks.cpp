#include "launcher/job/job_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "launcher/base/utf8.hpp"
#include "launcher/config/yaml_scalar.hpp"
#include "launcher/job/pipeline_checks.hpp"
#include "launcher/job/trainer_backends.hpp"
#include "launcher/job/yaml_keys.hpp"
#include "support/id_set.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// The entry for a key with a non-null value; the last one if the key is repeated.
const YamlEntry* find(const YamlNode* block, std::string_view key) {
  const YamlEntry* found = nullptr;
  if (block == nullptr) return found;
  for (const YamlEntry& entry : block->entries) {
    if (entry.key == key && entry.value->kind != YamlKind::null) found = &entry;
  }
  return found;
}

void check_what_to_do(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* train = find(&root, "train");
  const YamlEntry* run = find(&root, "run");
  if (train == nullptr && run == nullptr) {
    problems.push_back({root.mark,
                        "a job needs 'train:' (the built-in trainer) or 'run:' (any "
                        "command); here is neither"});
  } else if (train != nullptr && run != nullptr) {
    const bool run_is_later =
        run->mark.source > train->mark.source ||
        (run->mark.source == train->mark.source && run->mark.line > train->mark.line);
    problems.push_back({run_is_later ? run->mark : train->mark,
                        "a job has either 'train:' or 'run:'; here are both"});
  }
}

/// Keys that are valid only with `run:`.
void check_command_keys(const YamlNode& root, std::vector<YamlProblem>& problems) {
  if (find(&root, "run") != nullptr) return;
  const YamlEntry* framework = find(&root, "framework");
  if (framework != nullptr && framework->value->text != "none") {
    problems.push_back(
        {framework->value->mark, "framework is for 'run:'; the built-in trainer needs none"});
  }
}

std::string_view text_of(const YamlEntry* entry, std::string_view otherwise) {
  return entry == nullptr ? otherwise : entry->value->text;
}

/// The trainer refuses the following two as well, at the first compilation.
std::vector<TrainerBackend> chosen_backends(const YamlNode& root) {
  const auto word = [&root](std::string_view block, std::string_view key) {
    const YamlEntry* entry = find(&root, block);
    return text_of(entry == nullptr ? nullptr : find(entry->value.get(), key), "auto");
  };
  return backends_for(trainer_backends(), word("train", "backend"), word("resources", "device"));
}

void check_communicator(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* runtime = find(&root, "runtime");
  const YamlEntry* name = runtime == nullptr ? nullptr : find(runtime->value.get(), "allreduce");
  if (text_of(name, "") != "nccl") return;
  const YamlEntry* train = find(&root, "train");
  const YamlEntry* precision = train == nullptr ? nullptr : find(train->value.get(), "precision");
  const auto problem = gpu_memory_problem(chosen_backends(root), text_of(precision, "fp32"));
  if (!problem.empty()) problems.push_back({name->value->mark, problem});
  const auto refuse = [&](std::string_view key, std::string_view without) {
    const YamlEntry* entry = find(runtime->value.get(), key);
    if (entry == nullptr || entry->value->text == without) return;
    problems.push_back({entry->value->mark,
                        fmt::format("runtime.{} needs gradients on the host, and allreduce nccl "
                                    "reduces them on the GPU: use one or the other",
                                    key)});
  };
  refuse("compression", "none");
  refuse("gradient_lag", "0");
}

void check_precision(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* train = find(&root, "train");
  const YamlEntry* precision = train == nullptr ? nullptr : find(train->value.get(), "precision");
  if (precision == nullptr) return;
  const auto problem = precision_problem(chosen_backends(root), precision->value->text);
  if (!problem.empty()) problems.push_back({precision->value->mark, problem});
}

/// The trainer refuses both too (trainer/config/fine_tuning_keys.cpp), but only after the queue.
void check_fine_tuning(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* train = find(&root, "train");
  const YamlNode* keys = train == nullptr ? nullptr : train->value.get();
  const YamlEntry* from = find(keys, "init_from");
  const YamlEntry* skip = find(keys, "init_skip");
  const YamlEntry* resume = find(keys, "resume");
  if (from == nullptr && skip != nullptr && !skip->value->items.empty()) {
    problems.push_back({skip->value->mark,
                        "train.init_skip needs train.init_from, the file that it skips names of; "
                        "set init_from, or remove init_skip"});
  }
  const bool elsewhere =
      resume != nullptr && resume->value->text != "auto" && resume->value->text != "none";
  if (from == nullptr || !elsewhere) return;
  problems.push_back(
      {from->value->mark,
       "train.init_from and train.resume both give the first weights; remove one of them"});
}

/// The trainer refuses these too (trainer/config/config.cpp), but only after the queue.
void check_compression(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* train = find(&root, "train");
  const YamlEntry* runtime = find(&root, "runtime");
  if (train == nullptr || runtime == nullptr) return;
  const YamlEntry* precision = find(train->value.get(), "precision");
  const YamlEntry* compression = find(runtime->value.get(), "compression");
  const YamlEntry* lag = find(runtime->value.get(), "gradient_lag");
  const auto word = text_of(precision, "");
  const bool compressed = text_of(compression, "none") != "none";
  if (compressed && word == "fp64") {
    problems.push_back(
        {compression->value->mark, "runtime.compression: not supported with precision fp64"});
  }
  if (word != "fp16") return;
  if (compressed) {
    problems.push_back(
        {compression->value->mark,
         "runtime.compression: not supported with precision fp16, whose gradients are scaled"});
  }
  if (text_of(lag, "0") != "0") {
    problems.push_back(
        {lag->value->mark,
         "runtime.gradient_lag: not supported with precision fp16, whose loss scale may "
         "change between steps"});
  }
}

void check_container(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* environment = find(&root, "environment");
  const YamlEntry* container =
      environment == nullptr ? nullptr : find(environment->value.get(), "container");
  if (container == nullptr) return;
  if (const YamlEntry* image = find(container->value.get(), "image"); image != nullptr) {
    if (find(&root, "train") != nullptr) {
      problems.push_back({image->mark,
                          "environment.container is for 'run:'; the built-in trainer does not run "
                          "in a container"});
    }
    return;
  }
  const YamlEntry* mounts = find(container->value.get(), "mounts");
  if (mounts != nullptr && !mounts->value->items.empty()) {
    problems.push_back({container->mark, "environment.container needs an image"});
  }
}

void check_masks(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* binding = find(&root, "binding");
  if (binding == nullptr) return;
  const YamlEntry* policy = find(binding->value.get(), "policy");
  const YamlEntry* masks = find(binding->value.get(), "masks");
  const bool is_explicit = policy != nullptr && policy->value->text == "explicit";
  const bool any = masks != nullptr && !masks->value->items.empty();
  if (is_explicit && !any) {
    problems.push_back({policy->value->mark, "binding.policy explicit needs binding.masks"});
  }
  if (!is_explicit && any) {
    problems.push_back({masks->mark, "binding.masks needs binding.policy: explicit"});
  }
  if (!any) return;
  for (const YamlPointer& item : masks->value->items) {
    // The schema reports other values that are not masks.
    if (item->kind != YamlKind::scalar || !item->text.starts_with("0x")) continue;
    const auto mask = parse_mask(item->text);
    if (!mask) problems.push_back({item->mark, "binding.masks: " + mask.error().what});
    if (mask && mask->empty()) {
      problems.push_back({item->mark, "binding.masks: the mask " + in_quotes(item->text) +
                                          " is empty: its rank could run nowhere"});
    }
  }
}

void check_reserve(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* binding = find(&root, "binding");
  const YamlEntry* reserve = binding == nullptr ? nullptr : find(binding->value.get(), "reserve");
  if (reserve == nullptr || reserve->value->kind != YamlKind::scalar) return;
  const std::string& text = reserve->value->text;
  if (text.empty() || text[0] < '0' || text[0] > '9') return;
  const auto cpus = parse_id_list(text);
  if (!cpus) problems.push_back({reserve->value->mark, "binding.reserve: " + cpus.error().what});
}

/// The block at these keys; null if there is none.
const YamlNode* block_at(const YamlNode& root, std::initializer_list<std::string_view> keys) {
  const YamlNode* block = &root;
  for (const std::string_view key : keys) {
    const YamlEntry* entry = find(block, key);
    block = entry == nullptr ? nullptr : entry->value.get();
  }
  return block;
}

bool has_word(const YamlNode* block, std::string_view key, std::string_view word) {
  const YamlEntry* entry = find(block, key);
  return entry != nullptr && entry->value->text == word;
}

/// A missing flag is neither true nor false.
bool is_flag(const YamlEntry* entry, bool value) {
  if (entry == nullptr) return false;
  const auto given = scalar_value(*entry->value);
  return given.is_boolean() && given.get<bool>() == value;
}

std::optional<double> number_of(const YamlNode& node) {
  const auto value = scalar_value(node);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

/// The trainer refuses the following two as well (OptimizerEntry::problem, schedule_problem()), but
/// only after the queue.
void check_optimizer(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlNode* optimizer = block_at(root, {"train", "optimizer"});
  const YamlEntry* nesterov = find(optimizer, "nesterov");
  const YamlEntry* momentum = find(optimizer, "momentum");
  const bool is_sgd = find(optimizer, "name") == nullptr || has_word(optimizer, "name", "sgd");
  if (is_sgd && is_flag(nesterov, true) &&
      (momentum == nullptr || number_of(*momentum->value) == 0.0)) {
    problems.push_back(
        {nesterov->value->mark, "train.optimizer.nesterov needs a momentum above 0"});
  }
  const YamlEntry* correction = find(optimizer, "momentum_correction");
  if (has_word(optimizer, "name", "lars") && is_flag(correction, true) &&
      is_flag(find(optimizer, "lr_in_momentum"), false)) {
    problems.push_back({correction->value->mark,
                        "train.optimizer.momentum_correction needs lr_in_momentum: true"});
  }
}

void check_milestones(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlNode* schedule = block_at(root, {"train", "lr_schedule"});
  const YamlEntry* milestones = find(schedule, "milestones");
  if (!has_word(schedule, "decay", "piecewise") || milestones == nullptr) return;
  const auto& items = milestones->value->items;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto before = number_of(*items[i - 1]);
    const auto after = number_of(*items[i]);
    if (!before || !after || *before < *after) continue;
    problems.push_back(
        {items[i]->mark,
         fmt::format("train.lr_schedule.milestones must ascend: {} follows {}", *after, *before)});
  }
  const YamlEntry* factors = find(schedule, "factors");
  const std::size_t count = factors == nullptr ? 0 : factors->value->items.size();
  if (count == 0 || items.empty() || count == items.size()) return;
  problems.push_back({factors->value->mark,
                      fmt::format("train.lr_schedule.factors needs one per milestone: {} for {}",
                                  count, items.size())});
}

/// A number in the block `runtime`; the default if missing; nullopt if not a number, which the
/// schema reports.
std::optional<double> runtime_number(const YamlNode& root, std::string_view key, double initial) {
  const YamlEntry* block = find(&root, "runtime");
  const YamlEntry* entry = block == nullptr ? nullptr : find(block->value.get(), key);
  if (entry == nullptr) return initial;
  return number_of(*entry->value);
}

void check_stalls(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const auto stall_s = runtime_number(root, "stall_seconds", 60);
  const auto abort_s = runtime_number(root, "stall_abort_seconds", 600);
  constexpr double a_year_s = 365 * 86400;
  if (!stall_s || !abort_s || (*stall_s < *abort_s && *abort_s <= a_year_s)) return;
  const YamlNode* block = find(&root, "runtime")->value.get();
  const YamlEntry* named = find(block, "stall_abort_seconds");
  if (named == nullptr) named = find(block, "stall_seconds");
  problems.push_back(
      {named->value->mark, fmt::format("runtime.stall_abort_seconds ({}) must be more than "
                                       "stall_seconds ({}) and at most {}",
                                       *abort_s, *stall_s, a_year_s)});
}

/// Slurm ignores its topology for a job that is spread.
void check_spread(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* resources = find(&root, "resources");
  const YamlNode* block = resources == nullptr ? nullptr : resources->value.get();
  const YamlEntry* spread = find(block, "spread");
  if (text_of(spread, "false") != "true") return;
  for (const char* key : {"switches", "segment"}) {
    if (find(block, key) == nullptr) continue;
    problems.push_back(
        {spread->mark, fmt::format("resources.spread takes nodes wherever they are, and {} keeps "
                                   "them together: leave out one of them",
                                   key)});
    return;
  }
}

void check_switches(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlNode* block = block_at(root, {"resources", "switches"});
  const YamlEntry* wait = find(block, "wait");
  if (wait != nullptr && find(block, "count") == nullptr)
    problems.push_back({wait->mark, "resources.switches: wait needs a count of leaf switches"});
}

void check_memory(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlNode* block = block_at(root, {"resources", "memory"});
  const YamlEntry* first = nullptr;
  for (const char* key : {"per_node", "per_rank", "per_gpu"}) {
    const YamlEntry* entry = find(block, key);
    if (entry == nullptr) continue;
    if (first != nullptr)
      problems.push_back({entry->mark, fmt::format("resources.memory has one key, here are {} and "
                                                   "{}: remove one of them",
                                                   first->key, entry->key)});
    first = entry;
  }
}

void check_spare_nodes(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlNode* block = block_at(root, {"recovery"});
  const YamlEntry* spare = find(block, "spare_nodes");
  if (spare == nullptr || number_of(*spare->value).value_or(0) <= 0) return;
  const YamlEntry* restarts = find(block, "max_restarts");
  if (restarts != nullptr && number_of(*restarts->value) == 0.0)
    problems.push_back({spare->value->mark,
                        "recovery.spare_nodes are for restarts in the same allocation, and "
                        "recovery.max_restarts: 0 allows none"});
}

void check_min_nodes(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* fewest = key_at(root, "recovery.min_nodes");
  const double count = fewest == nullptr ? 0 : number_of(*fewest->value).value_or(0);
  if (count <= 0) return;
  const YamlEntry* nodes = key_at(root, "resources.nodes");
  const auto most = nodes == nullptr ? std::optional(1.0) : number_of(*nodes->value);
  if (most && count > *most)
    problems.push_back(
        {fewest->value->mark,
         fmt::format("recovery.min_nodes is {:.0f}, and resources.nodes is {:.0f}", count, *most)});
  const bool trains = key_at(root, "train") != nullptr;
  if (trains && text_at(root, "train.batch_size") == "auto" &&
      key_at(root, "train.global_batch") == nullptr)
    problems.push_back({fewest->value->mark,
                        "recovery.min_nodes keeps the global batch on fewer nodes, and with "
                        "train.batch_size: auto it is not known: set train.global_batch"});
}

void check_hold(const YamlNode& root, std::vector<YamlProblem>& problems) {
  const YamlEntry* hold = key_at(root, "recovery.hold_on_error");
  if (text_at(root, "recovery.hold_on_error").empty() || text_at(root, "array").empty()) return;
  problems.push_back({hold->value->mark,
                      "recovery.hold_on_error does not go with array: each task would keep its "
                      "own nodes, and dllaunch retry starts one run"});
}

}  // namespace

std::vector<YamlProblem> check_together(const YamlNode& root) {
  std::vector<YamlProblem> problems;
  check_what_to_do(root, problems);
  check_command_keys(root, problems);
  check_communicator(root, problems);
  check_precision(root, problems);
  check_fine_tuning(root, problems);
  check_compression(root, problems);
  check_container(root, problems);
  check_masks(root, problems);
  check_reserve(root, problems);
  check_optimizer(root, problems);
  check_milestones(root, problems);
  check_stalls(root, problems);
  check_spare_nodes(root, problems);
  check_min_nodes(root, problems);
  check_hold(root, problems);
  check_memory(root, problems);
  check_spread(root, problems);
  check_switches(root, problems);
  for (YamlProblem& problem : check_pipeline(root)) problems.push_back(std::move(problem));
  for (YamlProblem& problem : check_split(root)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace dllaunch
