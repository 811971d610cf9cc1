#include "launcher/provenance/code_state.hpp"

#include <fmt/core.h>

#include <chrono>
#include <utility>
#include <vector>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

/// A repository may name programs to run: a monitor of files, drivers of diffs. None is wanted.
Result<CommandOutput> ask_git(System& system, const std::string& folder,
                              const std::vector<std::string>& words) {
  constexpr std::chrono::seconds limit(2);
  // Nor may it fetch what a partial clone lacks, or ask for a password.
  std::vector<std::string> argv = {"env",
                                   "GIT_NO_LAZY_FETCH=1",
                                   "GIT_TERMINAL_PROMPT=0",
                                   "GIT_ASKPASS=",
                                   "SSH_ASKPASS=",
                                   "git",
                                   "--no-pager",
                                   "--no-optional-locks",
                                   "-c",
                                   "core.fsmonitor=false",
                                   "-C",
                                   folder};
  argv.insert(argv.end(), words.begin(), words.end());
  return system.run(argv, limit);
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
  const auto status =
      ask_git(system, folder, {"status", "--porcelain=v2", "--branch", "--untracked-files=no"});
  if (status && status->exit_code != 0) return std::nullopt;  // 127: no git
  if (status) {
    auto code = code_state_in(status->out);
    code.folder = folder;
    return code;
  }
  if (status.error().kind == ErrorKind::unavailable) return std::nullopt;
  // A repository too large to compare in time: its revision alone is quick.
  CodeState code{.folder = folder, .why = status.error().what};
  const auto head = ask_git(system, folder, {"rev-parse", "HEAD"});
  if (head && head->exit_code == 0) code.revision = first_line(head->out);
  return code;
}

std::string read_code_diff(System& system, CodeState& code) {
  if (!code.why.empty()) {  // git was too slow before
    code.diff_note = code.why;
    return "";
  }
  auto diff = ask_git(system, code.folder,
                      {"-c", "diff.relative=false", "diff", "--no-color", "--no-ext-diff",
                       "--no-textconv", "HEAD"});
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
