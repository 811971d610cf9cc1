#include "launcher/sweep/stored_sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "launcher/os/line_tail.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/sweep/optuna_records.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = 256 << 20;

bool has_trials(const std::string& dir) {
  std::error_code none;
  const std::filesystem::directory_iterator entries(dir, none);
  return std::ranges::any_of(entries, [](const std::filesystem::directory_entry& entry) {
    std::error_code ignored;
    return entry.path().filename().string().starts_with("trial-") && entry.is_directory(ignored);
  });
}

}  // namespace

Result<std::optional<Sweep>> stored_sweep(System& system, const std::string& dir) {
  const auto text = read_run_file(system, dir + "/sweep.json", most_bytes);
  if (!text) return text.error();
  if (text->empty()) return std::optional<Sweep>();
  const Json document = json_object_in(*text);
  if (document.is_null())
    return Error{ErrorKind::bad_request, dir + "/sweep.json is damaged",
                 "the sweep's next start writes it again from optuna.journal"};
  return std::optional(read_sweep(document));
}

Result<bool> check_same_sweep(System& system, const std::string& dir, const Sweep& sweep) {
  std::error_code ignored;
  if (std::filesystem::exists(dir + "/plan.json", ignored))
    return Error{ErrorKind::bad_request, dir + " is a run's", "choose another --run-dir"};
  const auto text = read_run_file(system, dir + "/sweep.json", most_bytes);
  if (!text) return text.error();
  const auto before = value_at<std::string>(json_object_in(*text), "job");
  if (!before.empty() && before != sweep.job)
    return Error{ErrorKind::bad_request, dir + " holds a sweep of another job file",
                 "choose another --run-dir"};
  OptunaReplay journal(sweep.name);
  for_each_line(dir + "/optuna.journal", [&](const std::string& line) { journal.take(line); });
  if (journal.trials().empty() && has_trials(dir))
    return Error{ErrorKind::bad_request,
                 dir + " has trials, and no optuna.journal that tells their parameters",
                 "put it back, or choose another --run-dir"};
  return !before.empty();
}

}  // namespace dllaunch
