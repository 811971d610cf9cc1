#include "launcher/sweep/stored_sweep.hpp"

#include <cstddef>
#include <filesystem>

#include "launcher/os/stored_json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = 256 << 20;

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

Result<Ok> check_same_sweep(System& system, const std::string& dir, const Sweep& sweep) {
  std::error_code ignored;
  if (std::filesystem::exists(dir + "/plan.json", ignored))
    return Error{ErrorKind::bad_request, dir + " is a run's", "choose another --run-dir"};
  const auto text = read_run_file(system, dir + "/sweep.json", most_bytes);
  if (!text) return text.error();
  const auto before = value_at<std::string>(json_object_in(*text), "job");
  if (before.empty() || before == sweep.job) return Ok{};
  return Error{ErrorKind::bad_request, dir + " holds a sweep of another job file",
               "choose another --run-dir"};
}

}  // namespace dllaunch
