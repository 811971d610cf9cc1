#include "launcher/run/kept_files.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/run/run_index.hpp"
#include "support/held_folder.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

fs::path folder_in(const std::string& state, const fs::path& run) {
  return fs::path(state) / "kept" / fmt::format("{:016x}", stable_hash(run.string()));
}

bool holds_copies(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "plan.json", ignored);
}

/// Those of a task are its array's, those of a component lie among its whole's. Empty: none.
fs::path copies_of(const std::string& state, const std::string& run_dir) {
  constexpr int levels = 3;  // RUN/components/NAME
  fs::path run = run_dir;
  fs::path below;
  for (int level = 0; level < levels && run.has_relative_path(); ++level) {
    const auto folder = folder_in(state, run);
    const auto part = below.empty() ? folder : folder / below;
    if (holds_copies(part)) return part;
    if (below.string().starts_with("task-") && holds_copies(folder)) return folder;
    below = below.empty() ? run.filename() : run.filename() / below;
    run = run.parent_path();
  }
  return {};
}

}  // namespace

Result<RunDir> executed_files(System& system, const RunDir& run) {
  auto why = why_not_trusted(run.path);
  if (why.empty()) return run;
  const auto state = state_folder(system);
  auto copies = run;
  copies.path = state ? copies_of(*state, run.path).string() : "";
  if (auto open = copies.path.empty() ? "" : why_not_trusted(copies.path); !open.empty())
    why = std::move(open);
  else if (!copies.path.empty())
    return copies;
  return Error{
      ErrorKind::bad_request,
      fmt::format("{}: nothing is executed from {}, and you have no copies of its files", why,
                  run.path),
      fmt::format("dllaunch run JOB.yaml --run-dir {}, with your job file", shell_quote(run.path))};
}

std::string script_to_submit(System& system, const RunDir& run) {
  const auto files = executed_files(system, run);
  return files ? files->sbatch_script() : run.sbatch_script();
}

std::optional<RunDir> make_kept_files(System& system, const RunDir& run) {
  const auto why = why_not_trusted(run.path);
  const auto state = state_folder(system);
  auto copies = run;
  if (state) copies.path = folder_in(*state, run.path).string();
  if (why.empty()) {
    std::error_code ignored;
    if (state) fs::remove_all(copies.path, ignored);
    return std::nullopt;
  }
  auto made = state ? Result<Ok>(Ok{}) : Error{ErrorKind::unavailable, "HOME is not set", ""};
  if (made) made = make_closed_folder(*state);
  if (made) made = make_closed_folder(*state + "/kept");
  if (made) made = make_closed_folder(copies.path);
  if (made) return copies;
  system.log(
      fmt::format("dllaunch: warning: {}, and no copies of what it executes can be kept: {}\n", why,
                  made.error().what));
  return std::nullopt;
}

void forget_kept_files(const std::string& state, const std::string& name) {
  std::error_code ignored;
  fs::remove_all(fs::path(state) / "kept" / name, ignored);
}

}  // namespace dllaunch
