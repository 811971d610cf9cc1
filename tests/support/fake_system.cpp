#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Result<CommandOutput> FakeSystem::run(const std::vector<std::string>& argv,
                                      std::chrono::milliseconds limit) {
  ran.push_back(argv);
  if (respond) {
    if (auto answer = respond(argv)) return *std::move(answer);
  }
  if (const auto answer = answers.find(join(argv)); answer != answers.end()) return answer->second;
  if (!find_program(argv.at(0))) {
    return Error{ErrorKind::unavailable, argv[0] + " is not installed", ""};
  }
  return Error{ErrorKind::timeout,
               argv[0] + " did not end within " + std::to_string(limit.count()) + " ms", ""};
}

std::optional<std::string> FakeSystem::find_program(std::string_view name) {
  const std::string path = "/usr/bin/" + std::string(name);
  if (programs.contains(std::string(name))) return path;
  for (const auto& [command, answer] : answers) {
    if (command == name || command.starts_with(std::string(name) + " ")) return path;
  }
  return std::nullopt;
}

std::optional<std::string> FakeSystem::environment(std::string_view name) {
  const auto found = variables.find(std::string(name));
  if (found == variables.end()) return std::nullopt;
  return found->second;
}

PathState FakeSystem::look_at(const std::string& path) {
  if (const auto known = paths.find(path); known != paths.end()) return known->second;
  const bool folder = folders.contains(path);
  return {.exists = folder || files.contains(path),
          .folder = folder,
          .executable = folder,
          .writable = folder};
}

Result<std::string> FakeSystem::read_file(const std::string& path) {
  const auto found = files.find(path);
  if (found == files.end()) {
    return Error{ErrorKind::unavailable, "cannot read " + path + ": No such file or directory", ""};
  }
  return found->second;
}

}  // namespace dllaunch
