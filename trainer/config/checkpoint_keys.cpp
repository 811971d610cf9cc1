#include "trainer/config/checkpoint_keys.hpp"

#include <iterator>

#include "trainer/checkpoints/checkpoint_retention.hpp"

namespace dllaunch {
namespace {

template <typename T, typename Json>
std::optional<T> absent_when_null(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.template get<T>());
}

std::vector<ConfigKey> interval_keys() {
  return {
      {.path = "checkpoint.every_epochs",
       .kind = ValueKind::integer,
       .initial = 1,
       .nullable = true,
       .wide = true,
       .minimum = 1,
       .description = "epochs between checkpoints; the last one is always written",
       .store = [](auto& c,
                   auto& v) { c.checkpoint.every_epochs = absent_when_null<std::int64_t>(v); }},
      {.path = "checkpoint.every_minutes",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .words = {{"auto", "sqrt(2 * save time * MTBF) (Young/Daly), from the measured save time"}},
       .description = "minutes between checkpoints, within epochs too",
       .store =
           [](auto& c, auto& v) {
             c.checkpoint.every_auto = v == "auto";
             if (v.is_number()) c.checkpoint.every_minutes = v.template get<double>();
           }},
      {.path = "checkpoint.mtbf_hours",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "for every_minutes: auto, the job's mean time between failures in hours; "
                      "null: 1000 divided by its nodes",
       .store = [](auto& c, auto& v) { c.checkpoint.mtbf_hours = absent_when_null<double>(v); }},
  };
}

std::vector<ConfigKey> retention_keys() {
  return {
      {.path = "checkpoint.keep",
       .kind = ValueKind::integer,
       .initial = 3,
       .minimum = 1,
       .description = "newest checkpoints to keep",
       .store = [](auto& c, auto& v) { c.checkpoint.keep = v; }},
      {.path = "checkpoint.best",
       .kind = ValueKind::word,
       .nullable = true,
       .words = words_of(checkpoint_metrics()),
       .description = "metric whose best epoch so far is also saved and is exempt from keep; "
                      "checkpoints/best points to it",
       .store =
           [](auto& c, auto& v) {
             c.checkpoint.best = v.is_null() ? "" : v.template get<std::string>();
           }},
  };
}

std::vector<ConfigKey> storage_keys() {
  return {
      {.path = "checkpoint.mb_per_s",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "maximum write rate in MB/s (1e6 bytes) during training; null: unlimited",
       .store = [](auto& c, auto& v) { c.checkpoint.mb_per_s = absent_when_null<double>(v); }},
      {.path = "checkpoint.wait_seconds",
       .kind = ValueKind::number,
       .initial = 10,
       .nullable = true,
       .minimum = 0,
       .description = "when a checkpoint is due, seconds to wait for the previous one to be "
                      "written; then the new one is skipped. null: no limit",
       .store = [](auto& c, auto& v) { c.checkpoint.wait_seconds = absent_when_null<double>(v); }},
      {.path = "checkpoint.on_error",
       .kind = ValueKind::word,
       .initial = "stop",
       .words = {{"stop", "training ends with the error"},
                 {"continue",
                  "a warning and an event are logged, and the next one is tried when due; if the "
                  "last one fails, training always fails"}},
       .description = "what happens if a checkpoint cannot be written",
       .store = [](auto& c, auto& v) { c.checkpoint.stop_on_error = v == "stop"; }},
  };
}

}  // namespace

std::vector<ConfigKey> checkpoint_keys() {
  std::vector<ConfigKey> keys;
  for (auto part : {interval_keys, retention_keys, storage_keys}) {
    auto rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace dllaunch
