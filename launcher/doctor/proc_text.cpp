#include "launcher/doctor/proc_text.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "launcher/base/split.hpp"
#include "launcher/base/trimmed.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Returns the next word of `text` and removes it from `text`.
std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const auto end = std::min(text.find_first_of(" \t"), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

IdSet ids_in(std::string_view text) {
  auto ids = parse_id_list(text);
  return ids ? *std::move(ids) : IdSet{};
}

std::optional<std::uint64_t> limit_in(std::string_view word) {
  if (word == "unlimited") return std::numeric_limits<std::uint64_t>::max();
  return parse_number<std::uint64_t>(word);
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_interpreter(std::string_view name) {
  constexpr std::string_view names[] = {"python", "bash", "sh", "dash", "perl", "julia", "Rscript"};
  return std::ranges::any_of(names,
                             [&](std::string_view known) { return name.starts_with(known); });
}

/// "bind:0-1", "prefer=static:0", "prefer (many):0,2", "default".
MemoryPolicy policy_in(std::string_view line) {
  auto rest = line;
  take_word(rest);  // the address
  auto word = std::string(take_word(rest));
  if (trimmed(rest).starts_with("(many)")) word += std::string(take_word(rest));
  MemoryPolicy policy;
  const auto colon = word.find(':');
  const auto mode = word.substr(0, std::min(word.find_first_of("=(:"), word.size()));
  for (const char* known : {"default", "local", "prefer", "bind", "interleave"})
    if (mode == known) policy.mode = known;
  if (colon != std::string::npos) policy.nodes = ids_in(std::string_view(word).substr(colon + 1));
  return policy;
}

}  // namespace

std::optional<ProcStatus> parse_proc_status(std::string_view text) {
  ProcStatus status;
  bool named = false;
  bool placed = false;
  for (const auto line : split_lines(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = line.substr(0, colon);
    const auto value = trimmed(line.substr(colon + 1));
    if (key == "Name") {
      status.name = std::string(value);
      named = true;
    } else if (key == "State" && !value.empty()) {
      status.state = value.front();
    } else if (key == "PPid") {
      status.parent = parse_number<int>(value).value_or(0);
    } else if (key == "Threads") {
      status.threads = parse_number<int>(value).value_or(0);
    } else if (key == "Cpus_allowed_list") {
      status.cpus = ids_in(value);
      placed = true;
    } else if (key == "Mems_allowed_list") {
      status.numa = ids_in(value);
    }
  }
  if (!named || !placed) return std::nullopt;
  return status;
}

Environment parse_proc_environment(std::string_view text) {
  Environment environment;
  for (const auto entry : split_at(text, '\0')) {
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

std::string command_in(std::string_view cmdline) {
  const auto take = [&] {
    const auto end = std::min(cmdline.find('\0'), cmdline.size());
    const auto word = cmdline.substr(0, end);
    cmdline.remove_prefix(std::min(end + 1, cmdline.size()));
    return word;
  };
  auto command = std::string(file_name(take()));
  if (!is_interpreter(command)) return command;
  const auto argument = take();
  if (!argument.empty() && !argument.starts_with('-'))
    command += " " + std::string(file_name(argument));
  return command;
}

ProcLimits parse_proc_limits(std::string_view text) {
  ProcLimits limits;
  const auto soft = [](std::string_view line, std::string_view name) {
    auto rest = line.substr(name.size());
    return limit_in(take_word(rest));
  };
  for (const auto line : split_lines(text)) {
    constexpr std::string_view locked = "Max locked memory";
    constexpr std::string_view files = "Max open files";
    if (line.starts_with(locked)) limits.locked_memory_bytes = soft(line, locked);
    if (line.starts_with(files)) limits.open_files = soft(line, files);
  }
  return limits;
}

std::vector<std::string> gpu_libraries_in(std::string_view maps) {
  constexpr std::string_view runtimes[] = {"libcudart.so", "libcuda.so", "libamdhip64.so",
                                           "libze_loader.so"};
  std::set<std::string> found;
  for (const auto line : split_lines(maps)) {
    const auto path = line.find('/');
    if (path == std::string_view::npos) continue;
    auto name = file_name(line.substr(path));
    name = name.substr(0, name.find(' '));  // "... (deleted)"
    for (const auto runtime : runtimes)
      if (name.starts_with(runtime)) found.emplace(name);
  }
  return {found.begin(), found.end()};
}

MemoryPolicy parse_numa_maps(std::string_view text) {
  std::string_view first;
  std::string_view stack;
  for (const auto line : split_lines(text)) {
    if (first.empty()) first = line;
    if (line.find(" stack") != std::string_view::npos) stack = line;
    if (line.find(" heap") != std::string_view::npos) return policy_in(line);
  }
  return policy_in(stack.empty() ? first : stack);
}

std::optional<IdSet> nvidia_devices_in(std::string_view devices_list) {
  constexpr int control_device = 255;  // /dev/nvidiactl
  constexpr std::string_view nvidia = "195:";
  if (trimmed(devices_list).empty()) return std::nullopt;
  IdSet devices;
  for (auto line : split_lines(devices_list)) {
    const auto kind = take_word(line);
    const auto numbers = take_word(line);
    if (kind == "a" || numbers == "*:*") return std::nullopt;
    if (kind != "c" || !numbers.starts_with(nvidia)) continue;
    const auto minor = numbers.substr(nvidia.size());
    if (minor == "*") return std::nullopt;
    const auto device = parse_number<int>(minor);
    if (device && *device >= 0 && *device < control_device) devices.insert(*device);
  }
  return devices;
}

}  // namespace dllaunch
