#include "launcher/presubmit/file_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "launcher/base/split.hpp"
#include "support/held_folder.hpp"

namespace dllaunch {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::string absolute(const std::string& path, const Paths& paths) {
  if (path.starts_with('/')) return path;
  return paths.work_dir + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

/// Whether only a shell or the node can resolve the path.
bool is_open(std::string_view path) {
  return path.find('$') != std::string_view::npos || path.find("{stage}") != std::string_view::npos;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// System software, which may differ between this machine and the nodes.
bool belongs_to_system(std::string_view path) {
  constexpr std::array<std::string_view, 6> folders = {"/usr/",  "/opt/", "/bin/",
                                                       "/sbin/", "/lib",  "/etc/"};
  return std::any_of(folders.begin(), folders.end(),
                     [path](std::string_view folder) { return path.starts_with(folder); });
}

void check_program_file(const std::string& named, const std::string& path, System& system,
                        CheckFindings& found) {
  const auto state = system.look_at(path);
  if (!state.exists && belongs_to_system(path))
    add_warning(found, fmt::format("run: {} is not on this machine", path),
                "check that the nodes have it");
  else if (!state.exists)
    add_error(found, ErrorKind::bad_request, fmt::format("run: no file {}", path),
              named == path
                  ? "correct the path"
                  : "correct the path: it is relative to the folder dllaunch was called in");
  else if (state.folder)
    add_error(found, ErrorKind::bad_request, fmt::format("run: {} is a folder", path),
              "name the program in it");
  else if (!state.executable)
    add_error(found, ErrorKind::bad_request, fmt::format("run: {} is not executable", path),
              fmt::format("chmod +x {}", path));
}

/// Whether PATH on the nodes is known; modules and others may extend it.
bool path_is_known(const Job& job) {
  const auto& environment = job.environment;
  const bool changed = std::any_of(environment.variables.begin(), environment.variables.end(),
                                   [](const auto& variable) { return variable.first == "PATH"; });
  return environment.modules.empty() && !environment.setup && !changed;
}

void check_program_name(const Job& job, const Paths& paths, const std::string& name, System& system,
                        CheckFindings& found) {
  const auto& prefix = job.environment.activate;
  if (prefix && system.look_at(absolute(*prefix, paths) + "/bin/" + name).executable) return;
  if (system.find_program(name)) return;
  if (!path_is_known(job)) {
    const auto here = system.look_at(absolute(name, paths));
    if (here.executable && !here.folder)
      add_warning(
          found,
          fmt::format("run: {} is looked for on PATH, not in this folder, which has one", name),
          fmt::format("write ./{}, if that one is meant", name));
    return;
  }
  add_error(found, ErrorKind::bad_request,
            fmt::format("run: no command '{}' on PATH{}", name,
                        prefix ? " nor in " + *prefix + "/bin" : ""),
            fmt::format("write its path (./{} for one in this folder), or load what has it with "
                        "environment.modules or environment.activate",
                        name));
}

bool is_python(std::string_view program) {
  program = base_name(program);
  return program.starts_with("python") &&
         program.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// The script that an interpreter runs: its first non-option argument.
std::optional<std::string> script_of(const std::vector<std::string>& argv) {
  constexpr std::array<std::string_view, 6> shells = {"bash", "sh",    "zsh",
                                                      "perl", "julia", "Rscript"};
  const bool python = is_python(argv[0]);
  if (!python && !is_one_of(base_name(argv[0]), shells)) return std::nullopt;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const auto& word = argv[i];
    if (!word.starts_with('-')) return word;
    if (python && (word == "-W" || word == "-X"))
      ++i;
    else if (word == "-c" || word == "-m" || word == "-" || !python)
      return std::nullopt;  // not a file, or options with unknown values
  }
  return std::nullopt;
}

void check_command(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  if (job.run_command.empty()) return;
  // Paths differ inside a container.
  if (job.environment.container) return;
  auto argv = job.run_command;
  if (const auto text = shell_text_at(argv); text < argv.size()) {
    argv = plain_words(argv[text]);
    if (argv.empty()) return;
  }
  const auto& program = argv[0];
  if (is_open(program)) return;
  if (program.find('/') != std::string::npos)
    check_program_file(program, absolute(program, paths), system, found);
  else
    check_program_name(job, paths, program, system, found);
  if (const auto script = script_of(argv)) {
    const auto path = absolute(*script, paths);
    if (!is_open(*script) && !system.look_at(path).exists)
      add_error(found, ErrorKind::bad_request,
                fmt::format("run: {} reads {}, which does not exist", program, path),
                "correct the path: it is relative to the folder dllaunch was called in");
  }
}

std::string nearest_that_exists(std::string path, System& system) {
  while (path.size() > 1 && !system.look_at(path).exists) {
    const auto slash = path.rfind('/');
    path = slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
  }
  return path;
}

void check_output(const Paths& paths, System& system, CheckFindings& found) {
  const auto folder = nearest_that_exists(paths.run_dir, system);
  const auto state = system.look_at(folder);
  if (!state.folder)
    add_error(
        found, ErrorKind::bad_request,
        fmt::format("the run directory {} cannot be made: {} is a file", paths.run_dir, folder),
        "use --run-dir with another path");
  else if (!state.writable)
    add_error(found, ErrorKind::bad_request,
              fmt::format("the run directory {} cannot be written: you may not write in {}",
                          paths.run_dir, folder),
              "use --run-dir DIR on a shared file system that you can write to");
  if (const auto why = why_not_trusted(paths.run_dir); !why.empty())
    add_warning(
        found,
        fmt::format("others can put another in the place of the run directory {}: {}",
                    paths.run_dir, why),
        std::string(paths.files.empty() ? ""
                                        : "the job runs from copies in your state folder, and "
                                          "is not held after an error; ") +
            "--run-dir DIR where only you write (chmod g-w), or a sticky bit (chmod +t), avoids "
            "that");
}

/// The path in a line of /proc/self/mountinfo, which writes a blank as \040.
std::string mount_point_in(std::string_view line) {
  constexpr std::size_t field = 4;
  constexpr std::string_view blank = "\\040";
  const auto fields = split_at(line, ' ');
  if (fields.size() <= field) return "";
  std::string path(fields[field]);
  for (auto at = path.find(blank); at != std::string::npos; at = path.find(blank, at + 1))
    path.replace(at, blank.size(), " ");
  return path;
}

/// Whether the path is in a mount of its own below `folder`: then it may well be shared.
bool is_mounted_below(std::string_view folder, const std::string& path, System& system) {
  const auto mounts = system.read_file("/proc/self/mountinfo");
  if (!mounts) return false;
  return std::ranges::any_of(split_lines(*mounts), [&](std::string_view line) {
    const auto point = mount_point_in(line) + "/";
    return point.size() > folder.size() && point.starts_with(folder) &&
           (path + "/").starts_with(point);
  });
}

bool is_of_one_machine(const std::string& path, System& system) {
  constexpr std::array<std::string_view, 4> folders = {"/tmp/", "/var/tmp/", "/dev/shm/", "/run/"};
  const bool named = std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) {
    return (path + "/").starts_with(folder) && !is_mounted_below(folder, path, system);
  });
  return named || system.look_at(nearest_that_exists(path, system)).in_memory;
}

void check_exists(std::string_view key, const std::string& named, const Paths& paths,
                  System& system, CheckFindings& found) {
  const auto path = absolute(named, paths);
  if (is_open(named) || system.look_at(path).exists) return;
  add_error(found, ErrorKind::bad_request, fmt::format("{}: no file or folder {}", key, path),
            "correct the path");
}

void check_prefix(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  if (!job.environment.activate) return;
  const auto path = absolute(*job.environment.activate, paths);
  if (system.look_at(path + "/conda-meta").folder || system.look_at(path + "/bin/activate").exists)
    return;
  const bool exists = system.look_at(path).exists;
  add_error(found, ErrorKind::bad_request,
            fmt::format("environment.activate: {} {}", path,
                        exists ? "is neither a venv nor a conda prefix" : "does not exist"),
            exists ? "name the folder that holds bin/activate or conda-meta"
                   : fmt::format("correct the path, or create it: python3 -m venv {}", path));
}

/// "docker://...", "nvcr.io#nvidia/pytorch:24.01-py3", "library://..."
bool is_address(std::string_view image) {
  return image.find("://") != std::string_view::npos || image.find('#') != std::string_view::npos;
}

void check_container(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  const auto& container = job.environment.container;
  if (!container) return;
  // Without a slash it may be a name known to the runtime: enroot's own images, an instance.
  const bool file =
      !is_address(container->image) &&
      (container->runtime != "enroot" || container->image.find('/') != std::string::npos);
  if (file) check_exists("environment.container.image", container->image, paths, system, found);
  for (const auto& mount : container->mounts)
    check_exists("environment.container.mounts", mount.substr(0, mount.find(':')), paths, system,
                 found);
  if (!system.find_program(container->runtime) && path_is_known(job) &&
      container->runtime != "enroot")
    add_warning(found, fmt::format("{} is not on this machine", container->runtime),
                "check that the nodes have it, or load it with environment.modules");
}

/// A run with checkpoints resumes from them, unless it is to start over. A dependency may write the
/// file before this job starts.
void check_init_from(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  const auto named = job.train.find("init_from");
  if (named == job.train.end() || !named->is_string() || !job.after.empty()) return;
  const bool begins = job.train.value("resume", Json()) == "none" ||
                      !system.look_at(paths.run_dir + "/checkpoints").folder;
  if (!begins) return;
  const auto file = named->get<std::string>();
  check_exists("train.init_from", file, paths, system, found);
  if (system.look_at(absolute(file, paths)).folder)
    add_error(found, ErrorKind::bad_request,
              fmt::format("train.init_from: {} is a folder", absolute(file, paths)),
              "name the .safetensors file in it");
}

void check_data(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  if (!job.train.is_object()) return;
  check_init_from(job, paths, system, found);
  const auto dataset = job.train.find("dataset");
  if (dataset == job.train.end() || !dataset->is_object()) return;
  const auto path = dataset->find("path");
  if (path == dataset->end() || !path->is_string()) return;
  auto there = path->get<std::string>();
  // A pattern of token shards: the folder that holds them.
  const bool tokens = dataset->value("kind", Json()) == "tokens";
  if (tokens && there.find_first_of("*?", there.rfind('/') + 1) != std::string::npos)
    there = there.rfind('/') == std::string::npos ? "." : there.substr(0, there.rfind('/') + 1);
  check_exists("train.dataset.path", there, paths, system, found);
}

void check_trainer(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  if (job.train.is_null() || system.find_program(paths.dltrain) || system.find_program("dltrain"))
    return;
  add_error(found, ErrorKind::unavailable,
            fmt::format("the trainer dltrain is neither at {} nor on PATH", paths.dltrain),
            "build it (cmake --build --preset release), or put it in the folder of dllaunch");
}

void check_stage(const Job& job, const Paths& paths, System& system, CheckFindings& found) {
  // Not paths (stage.hpp).
  const auto is_word = [](const auto& wish) { return wish == "programs" || wish == "no-programs"; };
  for (const auto& source : job.stage)
    if (!is_word(source)) check_exists("stage", source, paths, system, found);
}

/// Whether bash passes the word on unchanged. A first word with "=" would set a variable.
bool is_plain(std::string_view word, bool first) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [first](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+@").find(c) != std::string_view::npos ||
           (!first && std::string_view("=:,%").find(c) != std::string_view::npos);
  });
}

/// Keywords, builtins, and commands that change how the next one is found.
bool is_of_bash(std::string_view word) {
  constexpr std::array<std::string_view, 57> names = {
      ".",        "alias",  "bg",      "break",  "builtin", "case",     "cd",       "command",
      "continue", "coproc", "declare", "dirs",   "disown",  "echo",     "enable",   "eval",
      "exec",     "exit",   "export",  "false",  "fg",      "for",      "function", "getopts",
      "hash",     "if",     "jobs",    "kill",   "let",     "local",    "mapfile",  "module",
      "popd",     "printf", "pushd",   "pwd",    "read",    "readonly", "return",   "select",
      "set",      "shift",  "shopt",   "source", "test",    "time",     "times",    "trap",
      "true",     "type",   "ulimit",  "umask",  "unalias", "unset",    "until",    "wait",
      "while"};
  return is_one_of(word, names);
}

}  // namespace

std::vector<std::string> plain_words(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n;";
  while (true) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    if (text[0] != '#') break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  std::vector<std::string> argv;
  while (true) {
    const auto end = std::min(text.find_first_of(" \t\r\n;|&<>"), text.size());
    const auto word = text.substr(0, end);
    if (!is_plain(word, argv.empty())) break;
    argv.emplace_back(word);
    text.remove_prefix(end);
    const auto next = text.find_first_not_of(" \t");
    // "name () {" defines a function that later commands may call.
    if (argv.size() == 1 && next != std::string_view::npos && text[next] == '(') return {};
    if (next == 0 || next == std::string_view::npos) break;
    text.remove_prefix(next);
  }
  if (!argv.empty() && is_of_bash(argv[0])) return {};
  return argv;
}

CheckFindings check_files(const Job& job, const Paths& paths, System& system) {
  CheckFindings found;
  add_as(QueueCheck::command, found, [&] { check_command(job, paths, system, found); });
  add_as(QueueCheck::trainer, found, [&] { check_trainer(job, paths, system, found); });
  add_as(QueueCheck::data, found, [&] { check_data(job, paths, system, found); });
  add_as(QueueCheck::stage, found, [&] { check_stage(job, paths, system, found); });
  add_as(QueueCheck::environment, found, [&] { check_prefix(job, paths, system, found); });
  add_as(QueueCheck::container, found, [&] { check_container(job, paths, system, found); });
  add_as(QueueCheck::run_dir, found, [&] { check_output(paths, system, found); });
  return found;
}

CheckFindings check_shared(const Job& job, const Paths& paths, System& system) {
  CheckFindings found;
  // One message for all: usually the whole project is in one place.
  std::vector<std::string> local;
  std::vector<std::string> places = {paths.work_dir, paths.dllaunch};
  if (!paths.run_dir.starts_with(paths.work_dir + "/")) places.push_back(paths.run_dir);
  if (!job.train.is_null()) places.push_back(paths.dltrain);
  for (const auto& place : places)
    if (is_of_one_machine(place, system)) local.push_back(place);
  if (local.empty()) return found;
  add_warning(
      found,
      fmt::format(
          "{} {} in a folder that is usually local to each machine: the nodes may not find {}",
          fmt::join(local, ", "), local.size() == 1 ? "lies" : "lie",
          local.size() == 1 ? "it" : "them"),
      "use a folder that all nodes share, such as home or scratch; --run-dir DIR moves the run "
      "directory");
  found.back().check = QueueCheck::run_dir;
  return found;
}

}  // namespace dllaunch
