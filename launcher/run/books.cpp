#include "launcher/run/books.hpp"

#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace

void add_json(const Books& books, Json& summary) {
  summary["core_hours"] = or_null(books.core_hours);
  summary["gpu_hours"] = or_null(books.gpu_hours);
  summary["peak_memory_bytes"] = or_null(books.peak_memory_bytes);
  summary["peak_memory_source"] = text_or_null(books.peak_memory_source);
  Json peaks;
  for (const auto& peak : books.peak_memory_by_rank) peaks.push_back(or_null(peak));
  summary["peak_memory_by_rank"] = std::move(peaks);
  summary["energy_joules"] = or_null(books.energy_joules);
  summary["energy_source"] = text_or_null(books.energy_source);
  summary["energy_seconds"] = or_null(books.energy_seconds);
  const auto& wasted = books.wasted;
  summary["wasted"] = {{"seconds", or_null(wasted.seconds)},
                       {"core_hours", or_null(wasted.core_hours)},
                       {"gpu_hours", or_null(wasted.gpu_hours)}};
}

}  // namespace dllaunch
