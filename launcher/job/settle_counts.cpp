#include "launcher/job/settle_counts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/config/yaml_scalar.hpp"
#include "launcher/job/rank_launcher.hpp"
#include "launcher/job/yaml_keys.hpp"

namespace dllaunch {
namespace {

/// A positive whole number; nullopt: absent, null, auto, or something that the schema refuses.
std::optional<int> count_at(const YamlNode& root, std::string_view path) {
  const YamlEntry* entry = key_at(root, path);
  if (entry == nullptr || entry->value->kind != YamlKind::scalar) return std::nullopt;
  const Json value = scalar_value(*entry->value);
  constexpr int most = 1'000'000;
  if (!value.is_number_integer() || value < 1 || value > most) return std::nullopt;
  return value.get<int>();
}

/// Whether the file leaves the key to us.
bool is_open(const YamlNode& root, std::string_view path) {
  const YamlEntry* entry = key_at(root, path);
  return entry == nullptr || entry->value->kind == YamlKind::null || entry->value->text == "auto" ||
         (entry->value->plain && scalar_value(*entry->value).is_null());
}

/// The command as bash text; nullopt if there is none.
std::optional<std::string> command_text(const YamlNode& run) {
  if (run.kind == YamlKind::scalar) return run.text;
  std::vector<std::string> argv;
  for (const YamlPointer& item : run.items) {
    if (item->kind != YamlKind::scalar || item->text.find('\0') != std::string::npos)
      return std::nullopt;
    argv.push_back(item->text);
  }
  if (argv.empty()) return std::nullopt;
  return shell_join(argv);
}

/// Whether the file asks for one process per node.
bool starts_once(const YamlNode& root) {
  return count_at(root, "resources.ranks_per_node") == 1;
}

/// Puts the launcher's wishes into the job's keys, as far as they agree.
class Agreement {
 public:
  Agreement(YamlNode& root, const Mark& mark, const RankLauncher& launcher)
      : root_(root), mark_(mark), launcher_(launcher) {}

  Settled settle() {
    agree_on("resources.nodes", launcher_.nodes);
    agree_on("resources.ranks_per_node", launcher_.ranks_per_node);
    if (launcher_.ranks) divide(*launcher_.ranks);
    const auto framework = text_at(root_, "framework");
    if (is_open(root_, "framework"))
      write("framework", launcher_.framework);
    else if (framework != "pytorch" && framework != "deepspeed")
      refuse(
          fmt::format("starts ranks of {}, and framework is {}", launcher_.framework, framework));
    if (launcher_.restarts && count_at(root_, "recovery.max_restarts") != launcher_.restarts)
      refuse(
          fmt::format("asks for restarts, which dllaunch does: write recovery: {{max_restarts: "
                      "{}}}, and remove the option",
                      *launcher_.restarts));
    return std::move(settled_);
  }

  /// What `resources.ranks_per_node: 1` leaves to settle: the launcher stays.
  Settled settle_kept() {
    agree_on("resources.nodes", launcher_.nodes);
    const int nodes = count_at(root_, "resources.nodes").value_or(1);
    if (nodes > 1 && launcher_.one_node)
      refuse(
          fmt::format("starts workers on one node, and resources.nodes is {}: leave "
                      "resources.ranks_per_node out, and dllaunch starts all ranks; or name the "
                      "other nodes, as in run: \"torchrun --nnodes={} --rdzv_backend=c10d "
                      "--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT ...\"",
                      nodes, nodes));
    return std::move(settled_);
  }

  /// "; as if written: framework: pytorch"; empty: nothing was written.
  std::string as_if_written() const {
    return keys_.empty() ? "" : fmt::format("; as if written: {}", fmt::join(keys_, ", "));
  }

  void refuse(const std::string& why) {
    const bool once = starts_once(root_);
    const auto name = launcher_.written.substr(0, launcher_.written.find(' '));
    settled_.problems.push_back(
        {mark_, fmt::format("run: '{}' {}{}", launcher_.written, why,
                            once ? ""
                                 : fmt::format("; dllaunch starts the ranks itself (to start {} "
                                               "once a node instead: resources.ranks_per_node: 1)",
                                               name))});
  }

 private:
  void write(const std::string& path, const std::string& value) {
    set_key(root_, path, value, mark_);
    keys_.push_back(fmt::format("{}: {}", path, value));
  }

  void agree_on(const std::string& path, const std::optional<int>& wanted) {
    if (!wanted) return;
    if (is_open(root_, path)) return write(path, std::to_string(*wanted));
    if (const auto given = count_at(root_, path); given && *given != *wanted)
      refuse(fmt::format("asks for {} {}, and {} is {}: remove one of them", *wanted,
                         path == "resources.nodes" ? "nodes" : "ranks per node", path, *given));
  }

  void divide(int ranks) {
    const int nodes = count_at(root_, "resources.nodes").value_or(1);
    if (ranks % nodes != 0)
      return refuse(
          fmt::format("asks for {} processes, which {} nodes cannot share evenly", ranks, nodes));
    agree_on("resources.ranks_per_node", ranks / nodes);
  }

  YamlNode& root_;
  const Mark mark_;
  const RankLauncher& launcher_;
  Settled settled_;
  std::vector<std::string> keys_;
};

Settled take_launcher_off(YamlNode& root) {
  const YamlEntry* run = key_at(root, "run");
  if (run == nullptr) return {};
  const auto text = command_text(*run->value);
  const Mark mark = run->value->mark;
  if (text && starts_a_step(*text))
    return {
        .problems = {{mark,
                      "run: every rank would wait for its own 'srun': remove it and its options, "
                      "because dllaunch starts the ranks (`dllaunch init --from` converts an "
                      "sbatch script; srun --overlap is left alone)"}}};
  const auto launcher = text ? rank_launcher_in(*text) : std::nullopt;
  if (!launcher) return {};
  Agreement agreement(root, mark, *launcher);
  if (starts_once(root) && !(launcher->one_worker && launcher->refusal.empty())) {
    auto settled = agreement.settle_kept();
    settled.notes.push_back(
        {mark, fmt::format("run: '{}' stays, for ranks_per_node is 1: it runs once on each node. "
                           "dllaunch does not bind its workers: they share the rank's cores, and "
                           "OMP_NUM_THREADS is the number of all of them, unless you set it{}",
                           launcher->written, agreement.as_if_written())});
    return settled;
  }
  if (!launcher->refusal.empty()) agreement.refuse(launcher->refusal);
  auto settled = agreement.settle();
  if (!settled.problems.empty()) return settled;
  set_key(root, "run", launcher->command, mark);
  own_value_at(root, "run")->plain = false;
  settled.notes.push_back(
      {mark, fmt::format("run: '{}' is removed: dllaunch starts the ranks itself{}",
                         launcher->written, agreement.as_if_written())});
  return settled;
}

/// The nearest numbers of GPUs that `parts` divides.
std::string near_multiples(int gpus, int parts) {
  const int below = gpus / parts * parts;
  return below == 0 ? std::to_string(parts) : fmt::format("{} or {}", below, below + parts);
}

/// `gpus` over `given` (resources.nodes) is `other` (resources.gpus_per_node), or the other way.
void divide_over(YamlNode& root, const std::string& given, const std::string& other,
                 std::vector<YamlProblem>& problems) {
  const YamlEntry* entry = key_at(root, "resources.gpus");
  const Mark mark = entry->value->mark;
  const int gpus = *count_at(root, "resources.gpus");
  const int parts = *count_at(root, given);
  if (gpus % parts != 0) {
    problems.push_back(
        {mark, fmt::format("resources.gpus: {} cannot be divided by {}: {}; write {}", gpus, given,
                           parts, near_multiples(gpus, parts))});
    return;
  }
  const auto both = count_at(root, other);
  if (both && *both != gpus / parts) {
    problems.push_back(
        {mark, fmt::format("resources.gpus: {} is not {} {} times {} {}; remove one of them", gpus,
                           given, parts, other, *both)});
    return;
  }
  set_key(root, other, std::to_string(gpus / parts), mark);
  own_value_at(root, "resources.gpus")->kind = YamlKind::null;
}

std::vector<YamlProblem> settle_gpus(YamlNode& root) {
  std::vector<YamlProblem> problems;
  const YamlEntry* nodes = key_at(root, "resources.nodes");
  if (!count_at(root, "resources.gpus")) {
    if (nodes != nullptr && nodes->value->text == "auto")
      problems.push_back({nodes->value->mark,
                          "resources.nodes: auto needs resources.gpus, the GPUs of the whole job"});
    return problems;
  }
  if (count_at(root, "resources.nodes"))
    divide_over(root, "resources.nodes", "resources.gpus_per_node", problems);
  else if (count_at(root, "resources.gpus_per_node"))
    divide_over(root, "resources.gpus_per_node", "resources.nodes", problems);
  else if (is_open(root, "resources.nodes"))
    set_key(root, "resources.nodes", "auto", key_at(root, "resources.gpus")->value->mark);
  return problems;
}

}  // namespace

Settled settle_counts(YamlNode& root) {
  auto settled = take_launcher_off(root);
  for (auto& problem : settle_gpus(root)) settled.problems.push_back(std::move(problem));
  return settled;
}

}  // namespace dllaunch
