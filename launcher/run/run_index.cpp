#include "launcher/run/run_index.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "launcher/os/atomic_file.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Returns the entry's name, stable across versions.
std::string entry_name(const std::string& path) {
  return fmt::format("{:016x}.run", stable_hash(path));
}

using Dated = std::pair<fs::file_time_type, std::string>;

/// Returns a folder's entries, newest first. Names with a leading dot are being written.
std::vector<Dated> dated_entries(const std::string& folder) {
  // A folder with more entries is not this index.
  constexpr std::size_t most = 20000;
  std::vector<Dated> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && found.size() < most;
       at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) continue;
    std::error_code ignored;
    found.emplace_back(at->last_write_time(ignored), at->path().string());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

std::vector<Dated> newest(std::vector<Dated> entries, std::size_t most) {
  if (entries.size() > most) entries.resize(most);
  return entries;
}

/// Returns when a run was last started; `changed`: its folder, which also changes while it runs.
fs::file_time_type start_time(const std::string& path, fs::file_time_type changed) {
  std::error_code error;
  const auto written = fs::last_write_time(path + "/job.yaml", error);
  return error ? changed : written;
}

/// Drops the oldest entries of a full index. An entry removed concurrently is fine.
void forget_the_oldest(const std::string& folder) {
  const auto entries = dated_entries(folder);
  std::error_code ignored;
  for (std::size_t i = most_remembered_runs; i < entries.size(); ++i) {
    fs::remove(entries[i].second, ignored);
  }
}

}  // namespace

std::optional<std::string> state_folder(System& system) {
  const auto state = system.environment("XDG_STATE_HOME");
  // The XDG specification says to ignore relative paths.
  if (state && state->starts_with('/')) return *state + "/dllaunch";
  const auto home = system.environment("HOME");
  if (!home || !home->starts_with('/')) return std::nullopt;
  return *home + "/.local/state/dllaunch";
}

std::optional<std::string> run_index_folder(System& system) {
  const auto state = state_folder(system);
  if (!state) return std::nullopt;
  return *state + "/runs";
}

Result<Ok> remember_run(System& system, const RunDir& run) {
  const auto folder = run_index_folder(system);
  if (!folder)
    return Error{ErrorKind::unavailable, "HOME is not set, so `dllaunch ps` will not list the run",
                 ""};
  std::error_code error(make_private_folder(*folder), std::generic_category());
  auto written = error ? Result<Ok>(Error{ErrorKind::unavailable, error.message(), ""})
                       : write_file(*folder + "/" + entry_name(run.path), run.path + "\n");
  if (!written)
    return Error{ErrorKind::unavailable,
                 fmt::format("`dllaunch ps` will not list the run: cannot write {}: {}", *folder,
                             written.error().what),
                 ""};
  forget_the_oldest(*folder);
  return Ok{};
}

std::string word_for_run(System& system, const std::string& path) {
  const auto name = fs::path(path).filename().string();
  const auto folder = run_index_folder(system);
  std::error_code ignored;
  const bool found =
      folder && name_in_run(name) != name && fs::exists(*folder + "/" + entry_name(path), ignored);
  return found ? name : path;
}

std::string_view name_in_run(std::string_view folder) {
  // -YYYYmmdd-HHMMSS-XXXX
  constexpr std::size_t stamp = 21;
  if (folder.size() <= stamp) return folder;
  const auto end = folder.substr(folder.size() - stamp);
  const bool dashes = end[0] == '-' && end[9] == '-' && end[16] == '-';
  const bool numbers = (std::string(end.substr(1, 8)) + std::string(end.substr(10, 6)))
                           .find_first_not_of("0123456789") == std::string::npos;
  return dashes && numbers ? folder.substr(0, folder.size() - stamp) : folder;
}

bool holds_a_run(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path + "/plan.json", ignored));
}

std::string whole_of(const std::string& run_dir) {
  const auto parent = std::filesystem::path(run_dir).parent_path();
  const auto whole = parent.parent_path().string();
  return parent.filename() == "components" && holds_a_run(whole) ? whole : "";
}

std::vector<std::string> known_runs(System& system, std::size_t most,
                                    std::vector<std::string>* away) {
  std::vector<Dated> dated;
  std::set<std::string> indexed;
  if (const auto folder = run_index_folder(system)) {
    for (auto& [time, entry] : newest(dated_entries(*folder), most)) {
      auto text = system.read_file(entry);
      if (!text) continue;
      auto path = text->substr(0, text->find('\n'));
      if (path.empty() || !indexed.insert(path).second) continue;
      dated.emplace_back(time, std::move(path));
    }
  }
  std::error_code ignored;
  for (auto& [time, path] :
       newest(dated_entries((fs::current_path(ignored) / "runs").string()), most)) {
    if (!indexed.contains(path)) dated.emplace_back(start_time(path, time), path);
  }
  std::ranges::stable_sort(dated, std::ranges::greater(), &Dated::first);
  std::vector<std::string> runs;
  for (auto& [time, path] : dated) {
    if (holds_a_run(path))
      runs.push_back(std::move(path));
    else if (away != nullptr && !fs::exists(fs::path(path).parent_path(), ignored))
      away->push_back(std::move(path));
  }
  return runs;
}

}  // namespace dllaunch
