#include "launcher/run/books.hpp"

#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json json_of(const Books::Wasted& wasted) {
  return {{"seconds", or_null(wasted.seconds)},
          {"core_hours", or_null(wasted.core_hours)},
          {"gpu_hours", or_null(wasted.gpu_hours)}};
}

Books::Wasted wasted_from(const Json& wasted) {
  using Number = std::optional<double>;
  return {.seconds = value_at<Number>(wasted, "seconds"),
          .core_hours = value_at<Number>(wasted, "core_hours"),
          .gpu_hours = value_at<Number>(wasted, "gpu_hours")};
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
  summary["wasted"] = json_of(books.wasted);
  if (books.held.seconds) summary["held"] = json_of(books.held);
}

Books books_from(const Json& summary) {
  using Number = std::optional<double>;
  using Bytes = std::optional<std::int64_t>;
  Books books{.core_hours = value_at<Number>(summary, "core_hours"),
              .gpu_hours = value_at<Number>(summary, "gpu_hours"),
              .peak_memory_bytes = value_at<Bytes>(summary, "peak_memory_bytes"),
              .peak_memory_source = value_at<std::string>(summary, "peak_memory_source"),
              .energy_joules = value_at<Number>(summary, "energy_joules"),
              .energy_source = value_at<std::string>(summary, "energy_source"),
              .energy_seconds = value_at<Number>(summary, "energy_seconds")};
  const auto peaks = value_at<Json>(summary, "peak_memory_by_rank");
  for (std::size_t rank = 0; peaks.is_array() && rank < peaks.size(); ++rank)
    books.peak_memory_by_rank.push_back(
        peaks[rank].is_number_integer() ? Bytes(peaks[rank].get<std::int64_t>()) : std::nullopt);
  books.wasted = wasted_from(value_at<Json>(summary, "wasted"));
  books.held = wasted_from(value_at<Json>(summary, "held"));
  return books;
}

Json books_in(const Json& summary) {
  Json books = Json::object();
  add_json(books_from(summary), books);
  return books;
}

}  // namespace dllaunch
