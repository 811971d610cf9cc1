#include "launcher/sweep/stored_sweep.hpp"

#include <cstddef>

#include "launcher/os/stored_json.hpp"

namespace dllaunch {

Result<std::optional<Sweep>> stored_sweep(System& system, const std::string& dir) {
  constexpr std::size_t most_bytes = 256 << 20;
  const auto text = read_run_file(system, dir + "/sweep.json", most_bytes);
  if (!text) return text.error();
  if (text->empty()) return std::optional<Sweep>();
  const Json document = json_object_in(*text);
  if (document.is_null())
    return Error{ErrorKind::bad_request, dir + "/sweep.json is damaged",
                 "the sweep's next start writes it again from optuna.journal"};
  return std::optional(read_sweep(document));
}

}  // namespace dllaunch
