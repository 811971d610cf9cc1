#include "launcher/lint/script.hpp"

#include <algorithm>

#include "launcher/lint/bash/programs.hpp"

namespace dllaunch::lint {
namespace {

bool runs_in_a_shell(std::string_view text) {
  if (!text.starts_with("#!")) return true;  // sbatch refuses it; read it as the intended shell
  const std::string_view line = text.substr(2, text.find('\n') - 2);
  std::vector<Text> words;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", i), line.size());
    if (end > i) words.emplace_back(line.substr(i, end - i), i);
    i = end + 1;
  }
  const std::size_t program = skip_wrappers(words, 0);
  return program < words.size() && is_shell(base_name(words[program]));
}

/// "2"; the minimum of a range "2-4".
long node_count(const Text& value, bool& range) {
  const std::string& bytes = value.bytes();
  const std::size_t dash = bytes.find('-');
  if (dash == std::string::npos) return number_of(value);
  const long least = number_of(std::string_view(bytes).substr(0, dash));
  const long most = number_of(std::string_view(bytes).substr(dash + 1));
  range = least != most;
  return range ? -1 : least;
}

void read_request(const ParsedOptions& parsed, bool is_step, Request& request) {
  const auto number = [&](std::string_view name, long& into) {
    if (const GivenOption* option = last_option(parsed, name)) into = number_of(option->value);
  };
  number("ntasks", request.ntasks);
  number("ntasks-per-node", request.ntasks_per_node);
  number("cpus-per-task", request.cpus_per_task);
  if (const GivenOption* nodes = last_option(parsed, "nodes")) {
    request.node_range = false;
    request.nodes = node_count(nodes->value, request.node_range);
  }
  const auto gpus = [&](std::string_view name, long& into) {
    const GivenOption* option = last_option(parsed, name);
    if (option == nullptr) return;
    into = gpu_count(option->value);
    request.wants_gpus = request.wants_gpus || into != 0;
  };
  gpus("gpus-per-node", request.gpus_per_node);
  gpus("gpus-per-task", request.gpus_per_task);
  gpus("gpus", request.gpus);
  if (const GivenOption* gres = last_option(parsed, "gres")) {
    bool names_gpu = false;
    const long count = gres_gpu_count(gres->value, names_gpu);
    if (names_gpu) request.gpus_per_node = count;
    request.wants_gpus = request.wants_gpus || names_gpu;
  }
  // --exclusive has another meaning for a step.
  const GivenOption* exclusive = is_step ? nullptr : last_option(parsed, "exclusive");
  if (exclusive != nullptr) request.exclusive = !exclusive->has_value;
}

void collect_launches(Script& script) {
  for (const RanCommand& command : script.run.commands) {
    const std::size_t begin = skip_wrappers(command.words, 0);
    if (begin >= command.words.size()) continue;
    Launch launch;
    launch.program = base_name(command.words[begin]);
    if (!is_launcher(launch.program)) continue;
    launch.command = &command;
    launch.begin = begin;
    launch.arguments.assign(command.words.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                            command.words.end());
    if (launch.program == "srun") {
      launch.options = parse_slurm_options(launch.arguments, SlurmProgram::srun);
      launch.options.complete = launch.options.complete && launch.options.problems.empty();
      launch.ranks.assign(
          launch.arguments.begin() + static_cast<std::ptrdiff_t>(launch.options.program),
          launch.arguments.end());
    }
    script.launches.push_back(std::move(launch));
  }
}

}  // namespace

long gpu_count(const Text& value) {
  long count = 0;
  const std::string_view bytes = value.bytes();
  for (std::size_t i = 0; i <= bytes.size();) {
    const std::size_t end = std::min(bytes.find(',', i), bytes.size());
    std::string_view item = bytes.substr(i, end - i);
    const std::size_t colon = item.rfind(':');
    if (colon != std::string_view::npos) item.remove_prefix(colon + 1);
    const bool kind_only = !item.empty() && std::isalpha(static_cast<unsigned char>(item[0])) != 0;
    const long number = kind_only ? 1 : number_of(item);
    if (number < 0) return -1;
    count += number;
    i = end + 1;
  }
  return count;
}

long gres_gpu_count(const Text& value, bool& names_gpu) {
  long count = 0;
  const std::string_view bytes = value.bytes();
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t end = std::min(bytes.find(',', i), bytes.size());
    std::string_view item = bytes.substr(i, end - i);
    i = end + 1;
    if (item.starts_with("gres:") || item.starts_with("gres/")) item.remove_prefix(5);
    if (item != "gpu" && !item.starts_with("gpu:") && !item.starts_with("gpu=")) continue;
    names_gpu = true;
    if (const std::size_t socket = item.find('('); socket != std::string_view::npos) {
      item = item.substr(0, socket);
    }
    const std::size_t colon = item.find_last_of(":=");
    const std::string_view last = colon == std::string_view::npos ? "1" : item.substr(colon + 1);
    const bool kind_only = !last.empty() && std::isalpha(static_cast<unsigned char>(last[0])) != 0;
    const long number = kind_only ? 1 : number_of(last);
    if (number < 0 || count < 0) {
      count = -1;
    } else {
      count += number;
    }
  }
  return count;
}

long Request::tasks_per_node() const {
  if (ntasks_per_node > 0 && ntasks < 0) return ntasks_per_node;
  if (ntasks > 0 && nodes > 0) {
    const long spread = (ntasks + nodes - 1) / nodes;
    if (ntasks_per_node > 0) return std::min(ntasks_per_node, spread);
    return ntasks % nodes == 0 ? spread : -1;
  }
  if (ntasks > 0 && ntasks_per_node > 0) return std::min(ntasks, ntasks_per_node);
  if (ntasks == 1) return 1;
  return -1;
}

long Request::node_gpus() const {
  if (gpus_per_node >= 0) return gpus_per_node;
  if (gpus > 0 && nodes > 0 && gpus % nodes == 0) return gpus / nodes;
  const long tasks = tasks_per_node();
  if (gpus_per_task > 0 && tasks > 0) return gpus_per_task * tasks;
  return -1;
}

long Request::tasks() const {
  if (ntasks > 0) return ntasks;
  if (nodes > 0 && ntasks_per_node > 0) return nodes * ntasks_per_node;
  return -1;
}

Script read_script(std::string_view text) {
  Script script;
  script.text = text;
  script.is_shell = runs_in_a_shell(text);
  script.directives = read_directives(text);
  read_request(script.directives.parsed, false, script.request);
  // Slurm's default is one node.
  if (script.request.nodes < 0 && !script.request.node_range &&
      script.directive("nodes") == nullptr && script.directive("nodelist") == nullptr &&
      script.request.ntasks <= 1 && script.directives.het_job == 0) {
    script.request.nodes = 1;
  }
  if (!script.is_shell) return script;
  script.tree = read_shell(text);
  script.run = run_shell(script.tree, text);
  collect_launches(script);
  return script;
}

Request step_request(const Script& script, const Launch& launch) {
  Request request = script.request;
  if (script.directives.het_job != 0) request = Request{};
  const auto given = [&](std::string_view name) {
    return last_option(launch.options, name) != nullptr;
  };
  // A step's own task count replaces the job's, so the job's tasks per node no longer apply.
  if (given("ntasks") && !given("ntasks-per-node")) request.ntasks_per_node = -1;
  if (given("ntasks-per-node") && !given("ntasks")) request.ntasks = -1;
  if (given("nodes") && !given("ntasks")) request.ntasks = -1;
  read_request(launch.options, true, request);
  if (!launch.options.complete) {
    if (!given("ntasks") && !given("ntasks-per-node")) {
      request.ntasks = -1;
      request.ntasks_per_node = -1;
    }
  }
  return request;
}

}  // namespace dllaunch::lint
