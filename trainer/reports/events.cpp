#include "trainer/reports/events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "support/json.hpp"
#include "support/run_file.hpp"
#include "trainer/reports/rank_columns.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_ranks_listed = 8;
constexpr std::size_t most_notes = 3;

double micro(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

/// Returns minimum, 5 %, median, 95 %, maximum of the column over ranks.
Json quantiles(const std::vector<RankSeconds>& ranks, const RankColumn& column) {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const RankSeconds& rank : ranks) values.push_back(column.of(rank));
  std::ranges::sort(values);
  Json found = Json::array();
  for (const double at : {0.0, 0.05, 0.5, 0.95, 1.0}) {
    const double index = at * static_cast<double>(values.size() - 1);
    found.push_back(micro(values[static_cast<std::size_t>(std::lround(index))]));
  }
  return found;
}

/// Returns the ranks whose own work took longest.
std::vector<int> slowest(const std::vector<RankSeconds>& ranks) {
  std::vector<int> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  const auto own = [&](int rank) {
    const RankSeconds& each = ranks[static_cast<std::size_t>(rank)];
    return each.data + each.compute() + each.between;
  };
  const auto listed = std::min(most_ranks_listed, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(listed),
                            std::greater(), own);
  order.resize(listed);
  return order;
}

Json rank_row(const EpochRanks& event, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  Json row = {{"rank", rank}, {"host", event.hosts[index]}};
  for (const RankColumn& column : rank_columns)
    row[column.name] = micro(column.of(event.ranks[index]));
  return row;
}

/// Bytes by rank, null where unknown; null altogether for more ranks than ranks.csv takes, or if no
/// rank knows.
Json peaks_of(const std::vector<RankSeconds>& ranks) {
  Json peaks = Json::array();
  bool any = false;
  for (const RankSeconds& rank : ranks) {
    any = any || rank.peak_memory_bytes > 0;
    peaks.push_back(rank.peak_memory_bytes > 0
                        ? Json(static_cast<std::int64_t>(rank.peak_memory_bytes))
                        : Json());
  }
  return any && ranks.size() <= most_ranks_in_rows ? peaks : Json();
}

/// The most of any rank; null: unknown.
Json most_peak(const std::vector<RankSeconds>& ranks) {
  const auto& most = *std::ranges::max_element(ranks, {}, &RankSeconds::peak_memory_bytes);
  if (most.peak_memory_bytes <= 0) return {};
  return static_cast<std::int64_t>(most.peak_memory_bytes);
}

Json straggler_row(const EpochRanks& event, const Straggler& late) {
  Json row = {{"rank", late.rank},
              {"host", event.hosts[static_cast<std::size_t>(late.rank)]},
              {"cause", to_string(late.cause)}};
  row["phase"] = late.cause == Lateness::compute ? Json(to_string(late.phase)) : Json();
  row["seconds"] = micro(late.seconds);
  row["median"] = micro(late.median);
  row["delayed"] = micro(late.delayed);
  return row;
}

/// Returns the offset of the wall clock from the steady clock, in seconds.
double wall_clock_offset() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(wall).count() -
         std::chrono::duration<double>(steady).count();
}

}  // namespace

/// An event under construction. dump() turns NaN and infinity into null.
class EventLog::Line {
 public:
  explicit Line(std::string_view event) {
    json_["time"] = 0;  // the first key; append() sets it
    json_["event"] = event;
  }

  template <typename T>
  Line& add(const char* name, const T& value) {
    json_[name] = value;
    return *this;
  }

  template <typename T>
  Line& add(const char* name, const std::optional<T>& value) {
    if (value) return add(name, *value);
    json_[name] = nullptr;
    return *this;
  }

  std::string text() const {
    return json_.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  Json json_;
};

Result<EventLog> EventLog::open(const std::filesystem::path& file, std::int64_t fencing_token) {
  EventLog log;
  log.fencing_token_ = fencing_token;
  log.clock_offset_ = wall_clock_offset();
  log.file_ = open_run_file(file.parent_path(), file, O_WRONLY | O_CREAT | O_APPEND);
  if (log.file_ < 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)), ""};
  }
  return log;
}

EventLog::EventLog(EventLog&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      fencing_token_(other.fencing_token_),
      clock_offset_(other.clock_offset_),
      paused_(other.paused_),
      torn_(other.torn_),
      refused_(other.refused_) {}

EventLog& EventLog::operator=(EventLog&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(fencing_token_, other.fencing_token_);
  std::swap(clock_offset_, other.clock_offset_);
  std::swap(paused_, other.paused_);
  std::swap(torn_, other.torn_);
  std::swap(refused_, other.refused_);
  return *this;
}

EventLog::~EventLog() {
  if (file_ >= 0) ::close(file_);
}

void EventLog::note_pause() {
  const auto paused = AwakeClock::paused();
  const auto seconds = std::chrono::duration<double>(paused - std::exchange(paused_, paused));
  if (seconds.count() > 0) pause(seconds.count());
}

void EventLog::pause(double seconds) {
  append(Line("pause").add("seconds", seconds));
}

void EventLog::append(Line& line) {
  if (file_ < 0) return;
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  line.add("time", clock_offset_ + std::chrono::duration<double>(steady).count());
  if (fencing_token_ > 0) line.add("generation", fencing_token_);
  const std::string text = (torn_ ? "\n" : "") + line.text();
  ssize_t written = -1;
  do {
    written = ::write(file_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) {
    torn_ = false;
    return;
  }
  torn_ = torn_ || written > 0;
  if (refused_) return;
  refused_ = true;
  fmt::print(stderr, "dltrain: warning: events.jsonl loses events: {}\n",
             written < 0 ? std::strerror(errno) : "disk full");
}

void EventLog::start(const StartEvent& event) {
  append(Line("start")
             .add("ranks", event.ranks)
             .add("nodes", event.nodes)
             .add("model", event.model)
             .add("parameters", event.parameters)
             .add("global_batch", event.global_batch)
             .add("epochs", event.epochs)
             .add("steps_per_epoch", event.steps_per_epoch)
             .add("images", event.images)
             .add("val_images", event.val_images)
             .add("backend", event.backend)
             .add("host", event.host)
             .add("frozen", event.frozen)
             .add("init_from", event.init_from)
             .add("communicator", event.communicator)
             .add("transport", event.transport));
}

void EventLog::step(const StepEvent& event) {
  note_pause();
  Line line("step");
  line.add("epoch", event.epoch)
      .add("step", event.step)
      .add("loss", event.loss)
      .add("lr", event.lr)
      .add("images_per_s", event.images_per_s);
  if (event.tokens_per_s) line.add("tokens_per_s", *event.tokens_per_s);
  append(line);
}

void EventLog::epoch(const EpochEvent& event) {
  note_pause();
  Line line("epoch");
  line.add("epoch", event.epoch)
      .add("loss", event.loss)
      .add("accuracy", event.accuracy)
      .add("val_loss", event.val_loss)
      .add("val_accuracy", event.val_accuracy)
      .add("seconds", event.seconds)
      .add("images_per_s", event.images_per_s)
      .add("images", event.images)
      .add("val_top5_accuracy", event.val_top5_accuracy)
      .add("val_f1_macro", event.val_f1_macro)
      .add("val_f1_micro", event.val_f1_micro)
      .add("val_mean_absolute_error", event.val_mean_absolute_error)
      .add("val_mean_squared_error", event.val_mean_squared_error)
      .add("step", event.step)
      .add("lr", event.lr)
      .add("skipped", event.skipped);
  if (event.loss_scale) {
    line.add("loss_scale", *event.loss_scale).add("skipped_steps", event.skipped_steps);
  }
  if (event.tokens_per_s) {
    line.add("tokens_per_s", *event.tokens_per_s)
        .add("perplexity", event.perplexity)
        .add("val_perplexity", event.val_perplexity);
  }
  append(line);
}

void EventLog::ranks(std::int64_t epoch, const EpochRanks& event) {
  if (file_ < 0 || event.ranks.empty()) return;
  Json seconds;
  for (const RankColumn& column : rank_columns)
    seconds[column.name] = quantiles(event.ranks, column);
  Json listed = Json::array();
  for (const int rank : slowest(event.ranks)) listed.push_back(rank_row(event, rank));
  Json stragglers = Json::array();
  for (std::size_t i = 0; i < std::min(most_ranks_listed, event.stragglers.size()); ++i) {
    stragglers.push_back(straggler_row(event, event.stragglers[i]));
  }
  append(Line("ranks")
             .add("epoch", epoch)
             .add("steps", static_cast<std::int64_t>(event.ranks[0].steps))
             .add("ranks", event.ranks.size())
             .add("quantiles", Json::array({0, 0.05, 0.5, 0.95, 1}))
             .add("seconds", seconds)
             .add("slowest", listed)
             .add("stragglers", stragglers)
             .add("stragglers_total", event.stragglers.size())
             .add("notes", straggler_lines(event, most_notes))
             .add("peak_memory_bytes", most_peak(event.ranks))
             .add("peak_memory_by_rank", peaks_of(event.ranks)));
}

void EventLog::gpus(std::int64_t epoch, const EpochGpus& event) {
  if (file_ < 0 || event.empty()) return;
  Line line("gpus");
  line.add("epoch", epoch);
  const Json fields = gpu_fields(event);
  for (const auto& [name, value] : fields.items()) line.add(name.c_str(), value);
  append(line);
}

void EventLog::checkpoint(const CheckpointEvent& event) {
  append(Line("checkpoint")
             .add("path", event.path)
             .add("epoch", event.epoch)
             .add("step", event.step)
             .add("seconds_blocked", event.seconds_blocked)
             .add("seconds_total", event.seconds_total)
             .add("bytes", event.bytes));
}

void EventLog::checkpoint_failed(const CheckpointFailedEvent& event) {
  append(Line("checkpoint_failed")
             .add("epoch", event.epoch)
             .add("step", event.step)
             .add("why", event.why));
}

void EventLog::checkpoint_refused(std::string_view path, std::string_view why) {
  append(Line("checkpoint_refused").add("path", path).add("why", why));
}

void EventLog::restart(std::string_view reason, std::string_view from, std::int64_t step) {
  append(Line("restart").add("reason", reason).add("from", from).add("step", step));
}

void EventLog::stall(const StallEvent& event) {
  append(Line("stall")
             .add("state", event.state)
             .add("late_ranks", event.late_ranks)
             .add("collective", event.collective.empty() ? std::optional<std::string>()
                                                         : std::optional(event.collective))
             .add("seconds", event.seconds)
             .add("line", event.line));
}

void EventLog::corrupted(const CorruptedEvent& event) {
  append(Line("corrupted")
             .add("step", event.step)
             .add("since", event.since)
             .add("what", event.what)
             .add("how", event.how)
             .add("ranks", event.ranks)
             .add("hosts", event.hosts)
             .add("line", event.line));
}

void EventLog::end(std::string_view status, double seconds) {
  append(Line("end").add("status", status).add("seconds", seconds));
}

}  // namespace dllaunch
