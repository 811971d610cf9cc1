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
       .description = "epochs from one checkpoint to the next; the last one comes in any case",
       .store = [](auto& c,
                   auto& v) { c.checkpoint.every_epochs = absent_when_null<std::int64_t>(v); }},
      {.path = "checkpoint.every_minutes",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .words = {{"auto", "sqrt(2 * save time * MTBF) (Young/Daly), from the save time measured"}},
       .description = "minutes from one checkpoint to the next, within epochs too",
       .store =
           [](auto& c, auto& v) {
             c.checkpoint.every_auto = v == "auto";
             if (v.is_number()) c.checkpoint.every_minutes = v.template get<double>();
           }},
      {.path = "checkpoint.mtbf_hours",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "of every_minutes: auto, hours from one failure of the job to the next, on "
                      "average; null: 1000 divided by its nodes",
       .store = [](auto& c, auto& v) { c.checkpoint.mtbf_hours = absent_when_null<double>(v); }},
  };
}

std::vector<ConfigKey> retention_keys() {
  return {
      {.path = "checkpoint.keep",
       .kind = ValueKind::integer,
       .initial = 3,
       .minimum = 1,
       .description = "newest checkpoints that are kept",
       .store = [](auto& c, auto& v) { c.checkpoint.keep = v; }},
      {.path = "checkpoint.best",
       .kind = ValueKind::word,
       .nullable = true,
       .words = words_of(checkpoint_metrics()),
       .description = "an epoch that is the best so far by this is saved too and outlives keep; "
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
       .description = "MB a second (1e6 bytes) at which a checkpoint is written at most while "
                      "training goes on; null: as fast as it goes",
       .store = [](auto& c, auto& v) { c.checkpoint.mb_per_s = absent_when_null<double>(v); }},
      {.path = "checkpoint.wait_seconds",
       .kind = ValueKind::number,
       .initial = 10,
       .nullable = true,
       .minimum = 0,
       .description =
           "seconds that training waits, when a checkpoint is due, for the one before to "
           "be written; after them the new one is left out. null: until it is written",
       .store = [](auto& c, auto& v) { c.checkpoint.wait_seconds = absent_when_null<double>(v); }},
      {.path = "checkpoint.on_error",
       .kind = ValueKind::word,
       .initial = "stop",
       .words = {{"stop", "training ends with the error"},
                 {"continue",
                  "a warning and an event, and the next one is tried when it is due; "
                  "without the last one training fails in any case"}},
       .description = "what happens when a checkpoint cannot be written",
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
