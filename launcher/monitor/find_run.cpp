#include "launcher/monitor/find_run.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <vector>

#include "launcher/base/nearest_name.hpp"
#include "launcher/run/run_dir_files.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view digits = "0123456789";

std::string folder_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::optional<std::string> as_directory(const std::string& query) {
  std::error_code error;
  // Resolve links, as `run` does.
  auto path = fs::weakly_canonical(fs::absolute(query, error), error).string();
  if (error || query.empty()) return std::nullopt;
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  // The job that the runs of a study or a sweep share.
  for (const auto& one : {path, path + "/allocation"})
    if (holds_a_run(one)) return one;
  return std::nullopt;
}

/// Whether a path is a link that neither its target's owner, nor this user, nor root has made: in a
/// folder that others write, it may have replaced the run that is meant.
bool is_anothers_link(const std::string& query) {
  struct stat link {};
  struct stat target {};
  const auto path = query.substr(0, query.find_last_not_of('/') + 1);
  return lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
         stat(path.c_str(), &target) == 0 && link.st_uid != target.st_uid && link.st_uid != 0 &&
         link.st_uid != geteuid();
}

/// Finds runs of another user, or older than this machine's index: Slurm knows their output path.
std::optional<std::string> run_of_job(System& system, const std::string& id) {
  if (!system.find_program("scontrol")) return std::nullopt;
  const auto job = finished_job(system, id);
  if (!job || job->output.empty()) return std::nullopt;
  for (fs::path at = fs::path(job->output).parent_path(); at.has_relative_path();
       at = at.parent_path()) {
    if (holds_a_run(at.string())) return at.string();
  }
  return std::nullopt;
}

Error ambiguous(const std::string& query, const std::vector<std::string>& runs) {
  constexpr std::size_t most = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(most, runs.size()); ++i) {
    list += (i == 0 ? "" : ", ") + folder_name(runs[i]);
  }
  if (runs.size() > most) list += fmt::format(" and {} more", runs.size() - most);
  return {ErrorKind::bad_request, fmt::format("'{}' is ambiguous: {}", query, list),
          "write more of the name"};
}

Error unknown(const std::string& query, const std::vector<std::string>& runs) {
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const auto& run : runs) names.emplace_back(name_in_run(folder_name(run)));
  const auto near = nearest_name(query, names);
  return {ErrorKind::bad_request,
          fmt::format("no run '{}': no such run directory, name or job id{}", query,
                      near ? fmt::format("; did you mean {}?", *near) : ""),
          "`dllaunch ps --all` lists the runs"};
}

/// With --run-dir, the job's name is only in the plan.
bool has_name(System& system, const std::string& path, const std::string& query) {
  const std::string folder = folder_name(path);
  const auto name = name_in_run(folder);
  if (name == safe_run_name(query)) return true;
  if (name != folder) return false;
  const auto run = read_stored_run(system, path);
  return run && run->plan.name == query;
}

}  // namespace

std::string_view job_of_task(std::string_view query) {
  const auto id = query.substr(0, query.find('_'));
  const bool number = !id.empty() && id.find_first_not_of(digits) == std::string_view::npos;
  const auto task = query.substr(id.size());
  const bool good = task.empty() || (task.size() > 1 &&
                                     task.find_first_not_of(digits, 1) == std::string_view::npos);
  return number && good ? id : std::string_view();
}

/// "resnet/loader" or "12+1" of a modular run; nullopt: it names no component.
std::optional<std::string> component_in(System& system, const std::string& query) {
  const auto cut = query.find_last_of("/+");
  if (cut == std::string::npos || cut == 0 || cut + 1 == query.size()) return std::nullopt;
  const auto whole = find_run(system, query.substr(0, cut));
  const auto run = whole ? read_stored_run(system, *whole) : Result<StoredRun>(whole.error());
  if (!run) return std::nullopt;
  const auto word = query.substr(cut + 1);
  const auto& all = run->plan.components;
  const auto number = query[cut] == '+' ? parse_number<std::size_t>(word) : std::nullopt;
  const auto found = number && *number < all.size()
                         ? all.begin() + static_cast<std::ptrdiff_t>(*number)
                         : std::ranges::find(all, word, &ComponentOutline::name);
  if (found == all.end()) return std::nullopt;
  const auto dir = component_dir(*whole, found->name);
  return holds_a_run(dir) ? std::optional(dir) : std::nullopt;
}

Result<std::string> find_run(System& system, const std::string& query) {
  if (is_anothers_link(query))
    return Error{ErrorKind::bad_request, query + " is a link that another user has made",
                 "name the run's own directory"};
  if (auto path = as_directory(query)) return *std::move(path);
  if (auto path = component_in(system, query)) return *std::move(path);
  const auto runs = known_runs(system);
  const auto find = [&](auto matches) {
    const auto found = std::ranges::find_if(runs, matches);
    return found == runs.end() ? std::nullopt : std::optional(*found);
  };
  if (const auto id = std::string(job_of_task(query)); !id.empty()) {
    auto run = find([&](const std::string& path) {
      const auto text = system.read_file(RunDir{.path = path}.job_id());
      return text && job_id_in(*text) == id;
    });
    if (!run) run = run_of_job(system, id);
    if (run) return *std::move(run);
  }
  if (auto run = find([&](const std::string& path) { return folder_name(path) == query; }))
    return *std::move(run);
  if (auto run = find([&](const std::string& path) { return has_name(system, path, query); }))
    return *std::move(run);
  std::vector<std::string> begun;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(begun), [&](const std::string& path) {
    return !query.empty() && folder_name(path).starts_with(query);
  });
  if (begun.size() == 1) return begun.front();
  return begun.empty() ? unknown(query, runs) : ambiguous(query, begun);
}

std::optional<StoredRun> run_named(System& system, const std::string& word) {
  std::error_code ignored;
  if (word.empty() || fs::is_regular_file(word, ignored)) return std::nullopt;
  const auto path = find_run(system, word);
  auto run = path ? read_stored_run(system, *path) : path.error();
  return run ? std::optional(*std::move(run)) : std::nullopt;
}

namespace {

Result<std::string> run_to_read(System& system, const std::string& query) {
  if (!query.empty()) return find_run(system, query);
  auto runs = known_runs(system);
  if (runs.empty())
    return Error{ErrorKind::bad_request, "there is no run yet", "dllaunch JOB.yaml starts one"};
  if (system.console().verbosity >= 0)
    system.log(fmt::format("dllaunch: run {} (the newest)\n", folder_name(runs.front())));
  return std::move(runs.front());
}

}  // namespace

Result<std::string> find_run_to_read(System& system, const std::string& query) {
  auto path = run_to_read(system, query);
  if (!path) return path;
  for (const auto& odd : odd_files({.path = *path}))
    system.log(fmt::format("dllaunch: warning: {}/{}: it is not read\n", *path, odd));
  return path;
}

}  // namespace dllaunch
