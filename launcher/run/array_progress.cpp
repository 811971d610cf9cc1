#include "launcher/run/array_progress.hpp"

#include <fmt/core.h>

#include <vector>

#include "launcher/run/journal.hpp"
#include "launcher/run/run_index.hpp"

namespace dllaunch {
namespace {

/// The marker outlives a journal that a full disk has cut; a later start makes it outdated.
bool has_completed(const RunDir& task) {
  const auto history = read_journal(task).history;
  return history.empty() ? finished_in_job(task).has_value()
                         : history.back().cause == Cause::completed;
}

}  // namespace

ArrayTasks tasks_left(const RunDir& run, ArrayTasks tasks) {
  std::erase_if(tasks.numbers, [&run](int number) {
    return has_completed({.path = fmt::format("{}/task-{}", run.path, number)});
  });
  return tasks;
}

bool leave_out_completed(const std::string& run_dir, std::optional<std::string>& array) {
  const auto all = array ? parse_array_tasks(*array) : std::nullopt;
  if (!all || !holds_a_run(run_dir)) return true;
  const auto left = tasks_left({.path = run_dir}, *all);
  if (left.numbers.empty()) return false;
  if (left.numbers.size() < all->numbers.size()) array = to_string(left);
  return true;
}

}  // namespace dllaunch
