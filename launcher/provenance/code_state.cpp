#include "launcher/provenance/code_state.hpp"

#include <fmt/core.h>

#include <chrono>
#include <utility>
#include <vector>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

/// A repository may name programs to run: a monitor of files, hooks, drivers of diffs, filters.
/// None is wanted. `settings`: KEY=VALUE, which replace its own.
Result<CommandOutput> ask_git(System& system, const std::string& folder,
                              const std::vector<std::string>& settings,
                              const std::vector<std::string>& words) {
  constexpr std::chrono::seconds limit(2);
  // Nor may it fetch what a partial clone lacks, which may start programs too, or ask for a
  // password.
  std::vector<std::string> argv = {"env",
                                   "GIT_NO_LAZY_FETCH=1",
                                   "GIT_ALLOW_PROTOCOL=none",
                                   "GIT_TERMINAL_PROMPT=0",
                                   "GIT_ASKPASS=",
                                   "SSH_ASKPASS=",
                                   "git",
                                   "--no-pager",
                                   "--no-optional-locks",
                                   "-c",
                                   "core.fsmonitor=false",
                                   "-c",
                                   "core.hooksPath=/dev/null",
                                   "-C",
                                   folder};
  for (const auto& setting : settings) argv.insert(argv.end(), {"-c", setting});
  argv.insert(argv.end(), words.begin(), words.end());
  return system.run(argv, limit);
}

/// What turns off the filters that are configured. To compare a file, git would start them with it;
/// `git status` has no option against that. bad_request: one cannot be turned off.
Result<std::vector<std::string>> no_filters(System& system, const std::string& folder) {
  constexpr std::size_t most = 300;
  const auto named = ask_git(
      system, folder, {},
      {"config", "-z", "--name-only", "--get-regexp", R"(^filter\..*\.(clean|process|required)$)"});
  if (!named) return named.error();
  std::vector<std::string> settings;
  for (const auto key : split_at(named->out, '\0')) {
    if (key.empty()) continue;
    if (key.find('=') != std::string_view::npos || settings.size() == most)
      return Error{ErrorKind::bad_request, "git would start filters of the repository", ""};
    settings.push_back(fmt::format("{}={}", key, key.ends_with(".required") ? "false" : ""));
  }
  return settings;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

CodeState code_state_in(std::string_view status) {
  CodeState code{.dirty = false};
  for (const auto line : split_lines(status)) {
    constexpr std::string_view revision = "# branch.oid ";
    constexpr std::string_view branch = "# branch.head ";
    if (line.starts_with(revision)) {
      code.revision = line.substr(revision.size());
    } else if (line.starts_with(branch)) {
      code.branch = line.substr(branch.size());
    } else if (!line.empty() && line.front() != '#') {
      code.dirty = true;
    }
  }
  if (code.revision == "(initial)") code.revision.clear();
  if (code.branch == "(detached)") code.branch.clear();
  return code;
}

std::optional<CodeState> read_code_state(System& system, const std::string& folder) {
  const auto settings = no_filters(system, folder);
  const auto status = settings ? ask_git(system, folder, *settings,
                                         {"status", "--porcelain=v2", "--branch",
                                          "--untracked-files=no", "--ignore-submodules=dirty"})
                               : Result<CommandOutput>(settings.error());
  if (status && status->exit_code != 0) return std::nullopt;  // 127: no git
  if (status) {
    auto code = code_state_in(status->out);
    code.folder = folder;
    return code;
  }
  if (status.error().kind == ErrorKind::unavailable) return std::nullopt;
  // A repository that is too large to compare in time: its revision alone is quick.
  CodeState code{.folder = folder, .why = status.error().what};
  const auto head = ask_git(system, folder, {}, {"rev-parse", "HEAD"});
  if (head && head->exit_code == 0) code.revision = first_line(head->out);
  return code;
}

std::string read_code_diff(System& system, CodeState& code) {
  if (!code.why.empty()) {  // git was too slow before
    code.diff_note = code.why;
    return "";
  }
  auto settings = no_filters(system, code.folder);
  if (settings) settings->emplace_back("diff.relative=false");
  auto diff = settings ? ask_git(system, code.folder, *settings,
                                 {"diff", "--no-color", "--no-ext-diff", "--no-textconv",
                                  "--submodule=short", "--ignore-submodules=dirty", "HEAD"})
                       : Result<CommandOutput>(settings.error());
  if (!diff || diff->exit_code != 0) {
    code.diff_note = diff ? "git: " + first_line(diff->err) : diff.error().what;
    return "";
  }
  std::string text = std::move(diff->out);
  if (text.size() > most_diff_bytes) {
    code.diff_note = fmt::format("cut: it has {} bytes", text.size());
    text.resize(text.rfind('\n', most_diff_bytes - 1) + 1);
  }
  code.diff_bytes = static_cast<std::int64_t>(text.size());
  return text;
}

}  // namespace dllaunch
