#include "launcher/run/events.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

std::optional<double> real(const Json& object, const char* key) {
  return value_at<std::optional<double>>(object, key);
}

std::optional<std::int64_t> whole(const Json& object, const char* key) {
  return value_at<std::optional<std::int64_t>>(object, key);
}

std::string text(const Json& object, const char* key) {
  return value_at<std::string>(object, key);
}

Event start(const Json& line, double time) {
  return StartEvent{.time = time,
                    .ranks = whole(line, "ranks"),
                    .nodes = whole(line, "nodes"),
                    .model = text(line, "model"),
                    .parameters = whole(line, "parameters"),
                    .frozen = whole(line, "frozen"),
                    .global_batch = whole(line, "global_batch"),
                    .epochs = whole(line, "epochs"),
                    .steps_per_epoch = whole(line, "steps_per_epoch"),
                    .communicator = text(line, "communicator"),
                    .init_from = text(line, "init_from")};
}

Event step(const Json& line, double time) {
  return StepEvent{.time = time,
                   .epoch = whole(line, "epoch").value_or(0),
                   .step = whole(line, "step").value_or(0),
                   .loss = real(line, "loss"),
                   .accuracy = real(line, "accuracy"),
                   .lr = real(line, "lr"),
                   .images_per_s = real(line, "images_per_s"),
                   .tokens_per_s = real(line, "tokens_per_s")};
}

Event epoch(const Json& line, double time) {
  return EpochEvent{.time = time,
                    .epoch = whole(line, "epoch").value_or(0),
                    .loss = real(line, "loss"),
                    .accuracy = real(line, "accuracy"),
                    .val_loss = real(line, "val_loss"),
                    .val_accuracy = real(line, "val_accuracy"),
                    .seconds = real(line, "seconds"),
                    .images_per_s = real(line, "images_per_s"),
                    .tokens_per_s = real(line, "tokens_per_s"),
                    .val_perplexity = real(line, "val_perplexity"),
                    .images = real(line, "images"),
                    .step = whole(line, "step")};
}

Event ranks(const Json& line, double time) {
  return RanksEvent{.time = time,
                    .epoch = whole(line, "epoch").value_or(0),
                    .notes = value_at<std::vector<std::string>>(line, "notes")};
}

Event checkpoint(const Json& line, double time) {
  return CheckpointEvent{.time = time,
                         .path = text(line, "path"),
                         .epoch = whole(line, "epoch").value_or(0),
                         .step = whole(line, "step").value_or(0),
                         .seconds_blocked = real(line, "seconds_blocked"),
                         .seconds_total = real(line, "seconds_total"),
                         .bytes = whole(line, "bytes")};
}

Event checkpoint_failed(const Json& line, double time) {
  return CheckpointFailedEvent{
      .time = time, .step = whole(line, "step").value_or(0), .why = text(line, "why")};
}

Event checkpoint_refused(const Json& line, double time) {
  return CheckpointRefusedEvent{.time = time, .path = text(line, "path"), .why = text(line, "why")};
}

Event restart(const Json& line, double time) {
  return RestartEvent{.time = time,
                      .reason = text(line, "reason"),
                      .from = text(line, "from"),
                      .step = whole(line, "step"),
                      .queue_seconds = real(line, "queue_seconds")};
}

Event stall(const Json& line, double time) {
  return StallEvent{.time = time,
                    .state = text(line, "state"),
                    .late_ranks = value_at<std::vector<std::int64_t>>(line, "late_ranks"),
                    .collective = text(line, "collective"),
                    .seconds = real(line, "seconds"),
                    .line = text(line, "line")};
}

Event pause(const Json& line, double time) {
  return PauseEvent{.time = time, .seconds = std::max(0.0, real(line, "seconds").value_or(0))};
}

Event end(const Json& line, double time) {
  return EndEvent{.time = time, .status = text(line, "status"), .seconds = real(line, "seconds")};
}

}  // namespace

double time_of(const Event& event) {
  return std::visit([](const auto& one) { return one.time; }, event);
}

std::int64_t fencing_token_of(const Event& event) {
  return std::visit([](const auto& one) { return one.fencing_token; }, event);
}

std::optional<Event> parse_event(std::string_view line) {
  if (line.empty()) return std::nullopt;
  using Reader = Event (*)(const Json&, double);
  static const std::map<std::string, Reader, std::less<>> readers = {
      {"start", start},
      {"step", step},
      {"epoch", epoch},
      {"ranks", ranks},
      {"checkpoint", checkpoint},
      {"checkpoint_failed", checkpoint_failed},
      {"checkpoint_refused", checkpoint_refused},
      {"restart", restart},
      {"stall", stall},
      {"pause", pause},
      {"end", end}};

  const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return std::nullopt;
  const auto time = real(parsed, "time");
  const auto reader = readers.find(text(parsed, "event"));
  if (!time || reader == readers.end()) return std::nullopt;
  Event event = reader->second(parsed, *time);
  const auto fencing_token = std::max<std::int64_t>(0, whole(parsed, "generation").value_or(0));
  std::visit([&](auto& one) { one.fencing_token = fencing_token; }, event);
  return event;
}

std::string restart_line(const RestartEvent& event) {
  Json line = {{"time", event.time},          {"event", "restart"},
               {"reason", event.reason},      {"from", or_null(event.from)},
               {"step", or_null(event.step)}, {"queue_seconds", or_null(event.queue_seconds)}};
  if (event.fencing_token > 0) line["generation"] = event.fencing_token;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Event> EventTail::read() {
  std::vector<Event> events;
  for (const auto& line : lines_.read()) {
    if (auto event = parse_event(line)) events.push_back(*std::move(event));
  }
  return events;
}

}  // namespace dllaunch
