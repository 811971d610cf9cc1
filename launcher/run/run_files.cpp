#include "launcher/run/run_files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/config/yaml_text.hpp"
#include "launcher/job/job_changes.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/modular_plan.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/run_index.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

Error holds_another(const RunDir& run, const std::string& why) {
  return {ErrorKind::bad_request, fmt::format("{} holds a run of another job: {}", run.path, why),
          "choose another --run-dir, or undo the changes to the job file"};
}

std::vector<std::string> changes_between(const Job& before, const Job& now) {
  const auto without_components = [](Json resolved) {
    resolved.erase("components");
    return resolved;
  };
  auto changes =
      changes_that_matter(without_components(before.resolved), without_components(now.resolved));
  const bool alike = std::ranges::equal(before.components, now.components, {}, &JobComponent::name,
                                        &JobComponent::name);
  if (!alike) changes.emplace_back("components: others, or in another order");
  for (std::size_t i = 0; alike && i < now.components.size(); ++i) {
    for (const auto& change : changes_between(before.components[i].job, now.components[i].job))
      changes.push_back(fmt::format("components.{}.{}", now.components[i].name, change));
  }
  return changes;
}

}  // namespace

Result<Ok> check_same_job(System& system, const RunDir& run, const Job& job,
                          const LaunchPlan& plan) {
  const auto whole = whole_of(run.path);
  if (!whole.empty() && !system.environment("DLLAUNCH_COMPONENT"))
    return Error{ErrorKind::bad_request,
                 run.path + " belongs to a component, which runs with its whole",
                 "dllaunch run " + shell_quote(whole)};
  if (!run.resumed) return Ok{};
  auto text = system.read_file(run.job_yaml());
  if (!text) return std::move(text).error();
  const auto earlier = parse_job(*text, run.job_yaml(), {});
  if (!earlier.job) {
    const std::string why =
        earlier.problems.empty() ? "not a job" : earlier.problems.front().message;
    return holds_another(run, fmt::format("its job.yaml cannot be read ({})", why));
  }
  auto changes = changes_between(*earlier.job, job);
  const auto plan_text = system.read_file(run.plan_json());
  const auto before = plan_text ? json_object_in(*plan_text) : Json();
  const int ranks = before.contains("ranks") ? plan_from_json(before).ranks() : plan.ranks();
  if (ranks != plan.ranks()) changes.push_back(fmt::format("ranks: {} -> {}", ranks, plan.ranks()));
  if (changes.empty()) return Ok{};
  std::string list;
  for (const auto& change : changes) list += (list.empty() ? "" : "; ") + change;
  return holds_another(run, list);
}

Readers readers_of(const std::string& job_file) {
  struct stat file {};
  const bool open = stat(job_file.c_str(), &file) == 0 && (file.st_mode & S_IRGRP) != 0;
  return open ? Readers::as_the_run : Readers::none;
}

std::string job_text(const Job& job) {
  return to_yaml(stored_json(job));
}

namespace {

/// What says the same of a run in several ways.
NamedTexts files_of(const RunDir& run, const Job& job, const LaunchPlan& plan) {
  NamedTexts files = {{run.job_yaml(), job_text(job)}};
  if (!plan.train_json.empty()) files.emplace_back(run.train_json(), plan.train_json);
  files.emplace_back(run.plan_json(), json_text(to_json(plan)));
  return files;
}

}  // namespace

Result<Ok> write_run_files(const RunDir& run, const Job& job, const LaunchPlan& plan,
                           Readers readers) {
  auto files = files_of(run, job, plan);
  if (plan.launcher == Launcher::slurm)
    files.emplace_back(run.sbatch_script(), render_sbatch(plan, run.id));
  auto done = write_files(files, readers);
  if (done) done = prepare_autopsy(run.path, plan.recovery.autopsy);
  return done;
}

namespace {

Result<Ok> make_components_folder(const RunDir& run, bool share) {
  namespace fs = std::filesystem;
  const auto path = run.path + "/components";
  auto made = make_closed_folder(path);
  std::error_code error;
  if (made && share)
    fs::permissions(path, fs::perms::group_read | fs::perms::group_exec, fs::perm_options::add,
                    error);
  if (!error) return made;
  return Error{ErrorKind::bad_request, fmt::format("cannot share {}: {}", path, error.message()),
               "choose another --run-dir"};
}

/// Makes the component's directory, and adds its files.
Result<Ok> prepare_component(const RunDir& run, const Job& job, const ModularPlan& plan,
                             std::size_t number, NamedTexts& files) {
  const auto& part = job.components[number];
  const auto& own = plan.components[number].plan;
  const auto dir = component_dir(run.path, part.name);
  if (plan.whole.launcher == Launcher::local) {
    files.emplace_back(dir + ".yaml", job_text(part.job));
    return Ok{};
  }
  auto made = make_run_dir(dir);
  if (!made) return std::move(made).error();
  forget_summary(*made);
  // Of an earlier submission: its script writes its own when it starts.
  std::error_code ignored;
  std::filesystem::remove(made->job_id(), ignored);
  if (auto shared = share_run_dir(*made, plan.whole.share); !shared) return shared;
  for (auto& file : files_of(*made, part.job, own)) files.push_back(std::move(file));
  files.emplace_back(dir + "/component.sh", render_component(plan, number));
  return prepare_autopsy(dir, own.recovery.autopsy);
}

}  // namespace

Result<Ok> write_run_files(const RunDir& run, const Job& job, const ModularPlan& plan,
                           Readers readers) {
  NamedTexts files = {{run.job_yaml(), job_text(job)},
                      {run.plan_json(), json_text(to_json(plan.whole))}};
  auto done = make_components_folder(run, plan.whole.share);
  for (std::size_t i = 0; done && i < job.components.size(); ++i)
    done = prepare_component(run, job, plan, i, files);
  if (plan.whole.launcher == Launcher::slurm)
    files.emplace_back(run.sbatch_script(), render_sbatch(plan, run.id));
  return done ? write_files(files, readers) : done;
}

}  // namespace dllaunch
