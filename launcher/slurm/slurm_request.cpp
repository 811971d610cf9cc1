#include "launcher/slurm/slurm_request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "launcher/base/split.hpp"
#include "launcher/slurm/slurm_options.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// An unsigned number; -1: it is none, or too large for any cluster.
long number_of(std::string_view text) {
  const bool fits = text.size() <= 9 && !text.starts_with('-');
  return fits ? parse_number<long>(text).value_or(-1) : -1;
}

bool begins_with_letter(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
}

/// The count of one resource behind its name: "", ":8", "=a100:8", ":a100", ":2(S:0)".
long count_behind(std::string_view rest) {
  rest = rest.substr(0, rest.find('('));
  const auto last = rest.substr(std::min(rest.size(), rest.find_last_of(":=") + 1));
  return rest.empty() || begins_with_letter(last) ? 1 : number_of(last);
}

/// The sum of the counts of a resource in a list; `named`: whether the list has it.
long count_in(std::string_view list, std::string_view resource, bool& named) {
  long sum = 0;
  for (auto item : split_at(list, ',')) {
    if (item.starts_with("gres:") || item.starts_with("gres/")) item.remove_prefix(5);
    const auto name = item.substr(0, item.find_first_of(":=("));
    if (name != resource) continue;
    named = true;
    const long count = count_behind(item.substr(name.size()));
    sum = count < 0 || sum < 0 ? -1 : sum + count;
  }
  return sum;
}

/// "2", "2-4"
void read_nodes(std::string_view value, SlurmRequest& request) {
  const auto dash = value.find('-');
  request.least_nodes = number_of(value.substr(0, dash));
  request.most_nodes =
      dash == std::string_view::npos ? request.least_nodes : number_of(value.substr(dash + 1));
  request.node_range = request.least_nodes != request.most_nodes;
  request.nodes = request.node_range ? -1 : request.least_nodes;
}

/// "4"; the number of "2x" is unknown. `form`: of the value.
long number_in(OptionValue form, std::string_view value) {
  if (form == OptionValue::memory) return megabytes(value);
  if (form == OptionValue::gpus) return gpu_count(value);
  return number_of(value);
}

/// Whether the GPUs of a list of resources, or of --gpus and the like, have a type.
void read_types(std::string_view list, bool of_gpus, SlurmRequest& request) {
  for (auto item : split_at(list, ',')) {
    item = item.substr(0, item.find('('));
    if (const auto at = item.find("gpu"); !of_gpus && at != std::string_view::npos)
      item = item.substr(std::min(item.size(), at + 4));
    else if (!of_gpus)
      continue;
    if (begins_with_letter(item) || item.find(':') != std::string_view::npos)
      request.gpu_types.emplace(item.substr(0, item.find_first_of(":=")));
    else
      request.untyped_gpus = true;
  }
}

/// -B: sockets[:cores[:threads]]
void read_node_info(std::string_view value, SlurmRequest& request) {
  const auto parts = split_at(value, ':');
  const std::array<long SlurmRequest::*, 3> fields = {&SlurmRequest::sockets_per_node,
                                                      &SlurmRequest::cores_per_socket,
                                                      &SlurmRequest::threads_per_core};
  for (std::size_t i = 0; i < std::min(parts.size(), fields.size()); ++i)
    request.*fields[i] = number_of(parts[i]);
}

void read_option(const OptionGiven& option, bool of_step, SlurmRequest& request) {
  bool named = false;
  if (option.name == "nodes") {
    read_nodes(option.value, request);
  } else if (option.name == "extra-node-info") {
    read_node_info(option.value, request);
  } else if (option.name == "gres") {
    const long count = count_in(option.value, "gpu", named);
    if (named) request.gpus_per_node = count;
  } else if (option.name == "tres-per-task") {
    const long gpus = count_in(option.value, "gpu", named);
    if (named) request.gpus_per_task = gpus;
    bool cpus_named = false;
    const long cpus = count_in(option.value, "cpu", cpus_named);
    if (cpus_named) request.cpus_per_task = cpus;
  } else if (option.name == "exclusive") {
    // It has another meaning for a step.
    if (!of_step) request.exclusive = !option.has_value;
  } else if (const auto* known = find_slurm_option(option.name, SlurmProgram::srun);
             known != nullptr && known->field != nullptr) {
    const long number = number_in(known->value, option.value);
    request.*known->field = number;
    named = known->value == OptionValue::gpus && number != 0;
  }
  if (named) read_types(option.value, option.name.starts_with("gpus"), request);
  request.wants_gpus = request.wants_gpus || named || option.name == "ntasks-per-gpu";
}

/// An earlier option of the same name leaves no trace.
void read_last_of_each(std::span<const OptionGiven> options, bool of_step, SlurmRequest& request) {
  std::map<std::string_view, const OptionGiven*> last;
  for (const auto& option : options) last[option.name] = &option;
  for (const auto& option : options)
    if (last.at(option.name) == &option) read_option(option, of_step, request);
}

/// sbatch takes no more nodes than tasks.
void take_fewer_nodes(SlurmRequest& request) {
  if (request.ntasks < 1 || request.least_nodes < 1) return;
  request.most_nodes = std::min(request.most_nodes, request.ntasks);
  request.least_nodes = std::min(request.least_nodes, request.ntasks);
  request.node_range = request.least_nodes != request.most_nodes;
  request.nodes = request.node_range ? -1 : request.least_nodes;
}

/// `whole` over `parts`; -1: one is unknown, or they do not divide.
long share(long whole, long parts) {
  return whole > 0 && parts > 0 && whole % parts == 0 ? whole / parts : -1;
}

long product(long a, long b) {
  return a > 0 && b > 0 ? a * b : -1;
}

}  // namespace

long megabytes(std::string_view value) {
  if (value.ends_with('B') || value.ends_with('b')) value.remove_suffix(1);
  constexpr std::string_view units = "KMGT";
  const char last = value.empty() ? '0' : value.back();
  const auto unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(last))));
  if (unit != std::string_view::npos) value.remove_suffix(1);
  const long number = number_of(value);
  if (number < 0) return -1;
  if (unit == 0) return (number + 1023) / 1024;
  return unit == 2 ? number << 10 : unit == 3 ? number << 20 : number;
}

long gpu_count(std::string_view value) {
  long sum = 0;
  for (const auto item : split_at(value, ',')) {
    const long count = item.empty() ? -1 : count_behind(":" + std::string(item));
    if (count < 0) return -1;
    sum += count;
  }
  return sum;
}

bool asks_for_gpus(std::string_view resources) {
  bool named = false;
  count_in(resources, "gpu", named);
  return named;
}

long SlurmRequest::given_node_gpus() const {
  if (gpus_per_node >= 0) return gpus_per_node;
  if (const long even = share(gpus, nodes); even > 0) return even;
  return product(gpus_per_socket, sockets_per_node);
}

long SlurmRequest::tasks_per_node() const {
  if (ntasks_per_gpu > 0 && given_node_gpus() > 0) return given_node_gpus() * ntasks_per_gpu;
  if (ntasks_per_node > 0 && ntasks < 0) return ntasks_per_node;
  if (ntasks > 0 && nodes > 0) {
    const long spread = (ntasks + nodes - 1) / nodes;
    // Too few tasks a node for the tasks: srun ignores their number.
    const bool fits = ntasks_per_node > 0 && spread <= ntasks_per_node;
    return fits ? spread : share(ntasks, nodes);
  }
  if (ntasks > 0 && ntasks_per_node > 0) return std::min(ntasks, ntasks_per_node);
  if (ntasks > 0) return ntasks == 1 ? 1 : -1;
  if (const long tasks = share(given_node_gpus(), gpus_per_task); tasks > 0) return tasks;
  if (ntasks_per_gpu > 0) return ntasks_per_gpu;  // one GPU a node
  if (ntasks_per_socket > 0 && sockets_per_node > 0) return ntasks_per_socket * sockets_per_node;
  return implied_tasks();
}

/// Slurm starts a task for each socket, core or thread that a node shall have.
long SlurmRequest::implied_tasks() const {
  if (least_nodes < 1 || node_range ||
      std::max({sockets_per_node, cores_per_socket, threads_per_core}) < 1)
    return -1;
  return std::max(1L, sockets_per_node) * std::max(1L, cores_per_socket) *
         std::max(1L, threads_per_core);
}

long SlurmRequest::node_gpus() const {
  if (const long given = given_node_gpus(); given >= 0) return given;
  if (const long all = product(gpus_per_task, tasks_per_node()); all > 0) return all;
  return share(tasks_per_node(), ntasks_per_gpu);
}

long SlurmRequest::tasks() const {
  return ntasks > 0 ? ntasks : product(nodes, tasks_per_node());
}

long SlurmRequest::task_cpus() const {
  if (cpus_per_task > 0 || cpus_per_gpu < 1) return cpus_per_task;
  if (gpus_per_task > 0) return cpus_per_gpu * gpus_per_task;
  const long node_tasks = tasks_per_node();
  return share(product(cpus_per_gpu, node_gpus()), node_tasks < 0 && ntasks < 0 ? 1 : node_tasks);
}

SlurmRequest job_request(std::span<const OptionGiven> options) {
  SlurmRequest request;
  read_last_of_each(options, false, request);
  const bool places = std::ranges::any_of(options, [](const OptionGiven& option) {
    return option.name == "nodes" || option.name == "nodelist" || option.name == "nodefile";
  });
  // Slurm's default is one node.
  if (!places && request.ntasks <= 1) request.nodes = 1;
  // Else as many as the tasks need.
  if (!places && request.ntasks > 1) request.nodes = share(request.ntasks, request.ntasks_per_node);
  take_fewer_nodes(request);
  return request;
}

SlurmRequest step_request(const SlurmRequest& job, std::span<const OptionGiven> options,
                          bool complete) {
  SlurmRequest request = job;
  const auto given = [options](std::string_view name) {
    return std::ranges::find(options, name, &OptionGiven::name) != options.end();
  };
  const bool counts = given("ntasks") || given("ntasks-per-node") || given("ntasks-per-gpu");
  // A step's own number of tasks takes the place of the job's, however that was written.
  if (counts) {
    request.ntasks = -1;
    request.ntasks_per_node = -1;
    request.ntasks_per_gpu = -1;
  } else if (given("nodes")) {
    request.ntasks = -1;
  }
  if (given("cpus-per-gpu")) request.cpus_per_task = -1;
  read_last_of_each(options, true, request);
  if (!complete && !counts) {
    request.ntasks = -1;
    request.ntasks_per_node = -1;
  }
  return request;
}

long SlurmRequest::submitted_tasks() const {
  if (ntasks > 0) return ntasks;
  const bool fixed = least_nodes > 0 && !node_range;
  if (ntasks_per_node > 0)
    return node_range ? -1 : product(std::max(1L, least_nodes), ntasks_per_node);
  const long implied = product(nodes, implied_tasks());
  const bool per_node = fixed && cpus_per_task < 0 && gpus_per_task > 0;
  return implied > 0 ? implied : per_node ? nodes : -1;
}

std::string contradiction_in(const SlurmRequest& request) {
  const long per_node = request.gpus_per_node;
  const long per_task = request.gpus_per_task;
  const long per_socket = request.gpus_per_socket;
  const long sockets = request.sockets_per_node;
  const long per_gpu = request.ntasks_per_gpu;
  const long tasks = request.submitted_tasks();
  const bool typed = !request.gpu_types.empty();
  const bool counts_gpus = typed || request.untyped_gpus;
  const long most = request.most_nodes;
  const long nodes = request.least_nodes;
  const auto differ = [](long a, long b) { return a > 0 && b > 0 && a != b; };
  const auto broken = [](long whole, long part) {
    return whole > 0 && part > 0 && whole % part != 0;
  };
  if (typed && request.untyped_gpus) return "GPUs are given with and without a type";
  if (!counts_gpus && per_gpu < 1 && request.memory_per_gpu > 0)
    return "--mem-per-gpu is given, and no GPUs";
  if (per_task > 0 && request.gpus < 0 && tasks < 0)
    return "GPUs of a task need --ntasks, --gpus, or --nodes without --cpus-per-task";
  if (per_gpu > 0 && !counts_gpus && tasks < 0 && (nodes < 1 || request.node_range))
    return "--ntasks-per-gpu needs a number of GPUs, tasks or nodes";
  if (per_gpu > 0 && !counts_gpus && tasks > 0) {
    if (broken(tasks, per_gpu))
      return fmt::format("{} tasks are no multiple of --ntasks-per-gpu={}", tasks, per_gpu);
    if (tasks / per_gpu < nodes)
      return fmt::format("{} GPUs are fewer than {} nodes", tasks / per_gpu, nodes);
  }
  if (per_socket > 0 && sockets < 0) return "--gpus-per-socket needs --sockets-per-node";
  if (broken(request.gpus, per_node) || broken(request.gpus, per_task) ||
      broken(per_node, per_task) || broken(per_node, per_socket) || broken(per_socket, per_task))
    return "the numbers of GPUs of the job, a node, a socket and a task are no multiples of each "
           "other";
  if (const long needed = share(request.gpus, per_node);
      needed > 0 && nodes > 0 && (needed < nodes || needed > most))
    return fmt::format("{} GPUs, {} a node, are on {} nodes, and --nodes says {}", request.gpus,
                       per_node, request.gpus / per_node, nodes);
  if (request.gpus > 0 && request.gpus < nodes)
    return fmt::format("{} GPUs are fewer than {} nodes", request.gpus, nodes);
  if (differ(share(per_node, per_socket), sockets))
    return fmt::format(
        "{} GPUs a node, {} a socket, are on {} sockets, and --sockets-per-node "
        "says {}",
        per_node, per_socket, per_node / per_socket, sockets);
  if (differ(share(request.gpus, per_task), tasks))
    return fmt::format("{} GPUs, {} a task, are for {} tasks, and the job has {}", request.gpus,
                       per_task, request.gpus / per_task, tasks);
  if (differ(share(per_node, per_task), request.ntasks_per_node))
    return fmt::format(
        "{} GPUs a node, {} a task, are for {} tasks a node, and --ntasks-per-node "
        "says {}",
        per_node, per_task, per_node / per_task, request.ntasks_per_node);
  if (differ(share(per_socket, per_task), request.ntasks_per_socket))
    return fmt::format(
        "{} GPUs a socket, {} a task, are for {} tasks a socket, and "
        "--ntasks-per-socket says {}",
        per_socket, per_task, per_socket / per_task, request.ntasks_per_socket);
  return "";
}

}  // namespace dllaunch
