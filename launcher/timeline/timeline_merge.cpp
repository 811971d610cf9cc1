#include "launcher/timeline/timeline_merge.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "launcher/timeline/timeline_sources.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 7> step_phases = {
    "LOAD_DATA",          "FORWARD", "BACKWARD",     "WAIT_FOR_STAGE",
    "WAIT_FOR_ALLREDUCE", "UPDATE",  "BETWEEN_STEPS"};

bool in_steps(std::string_view name) {
  return std::ranges::find(step_phases, name) != step_phases.end();
}

bool is_of_all_ranks(const TimelineSpan& span) {
  return span.track > 0 && span.number > 0 && span.number < first_group_collective;
}

/// Arrival times of the last rank at recent collectives. Holds more than a rank's file.
class Arrivals {
 public:
  struct Arrival {
    std::uint64_t number = 0;
    std::int64_t last_ns = 0;
    int last = 0;  // index of the last source to arrive
    int ranks = 0;
  };

  void add(std::uint64_t number, std::int64_t begin_ns, int source) {
    Arrival& kept = kept_[number % kept_.size()];
    if (kept.number > number) return;
    if (kept.number < number) kept = {.number = number, .last_ns = begin_ns, .last = source};
    if (begin_ns > kept.last_ns) kept.last = source;
    kept.last_ns = std::max(kept.last_ns, begin_ns);
    ++kept.ranks;
  }

  const Arrival* find(std::uint64_t number, std::size_t ranks) const {
    const Arrival& kept = kept_[number % kept_.size()];
    const bool all = kept.number == number && static_cast<std::size_t>(kept.ranks) == ranks;
    return all ? &kept : nullptr;
  }

 private:
  std::vector<Arrival> kept_ = std::vector<Arrival>(1 << 17);
};

/// Perfetto requires thread ids that are unique across processes and differ from process ids.
int thread_of(int rank, int track) {
  constexpr int after_most_ranks = 1'000'000;
  return after_most_ranks + rank * 100 + track;
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// The trace being written.
class TraceWriter {
 public:
  TraceWriter(std::FILE* file, std::int64_t origin_ns) : file_(file), origin_ns_(origin_ns) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  }

  void metadata(int rank, int track, std::string_view name, std::string_view args) {
    separate();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{{}}}}})", name, rank,
                   thread_of(rank, track), args);
  }

  void span(int rank, int track, std::string_view name, std::pair<std::int64_t, std::int64_t> times,
            std::string_view args) {
    separate();
    const auto [begin, end] = times;
    fmt::format_to(
        std::back_inserter(text_),
        R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        name, track == 0 ? "phase" : "collective", rank, thread_of(rank, track),
        microseconds(begin - origin_ns_), microseconds(end - begin), args);
  }

  /// Returns false if a write failed.
  bool finish() {
    text_ += "\n]}\n";
    flush();
    return std::fflush(file_) == 0 && std::ferror(file_) == 0;
  }

 private:
  /// Readers multiply by 1000 and truncate or round. Adding 0.2 ns keeps both exact, and so the
  /// nesting of spans.
  static std::string microseconds(std::int64_t ns) {
    const std::int64_t whole = std::max<std::int64_t>(ns, 0);
    return fmt::format("{}.{:03}2", whole / 1000, whole % 1000);
  }

  void separate() {
    if (!std::exchange(first_, false)) text_ += ",\n";
    if (text_.size() > 1 << 16) flush();
  }

  void flush() {
    std::fwrite(text_.data(), 1, text_.size(), file_);
    text_.clear();
  }

  std::FILE* file_;
  std::int64_t origin_ns_;
  std::string text_;
  bool first_ = true;
};

class Merge {
 public:
  Merge(TimelineSources sources, const std::optional<IdSet>& ranks)
      : sources_(std::move(sources)), chosen_(ranks) {}

  /// First pass over all spans: when the trace begins, which rank arrives last.
  void survey() {
    for (std::size_t i = 0; i < sources_.ranks.size(); ++i) {
      each_span(sources_.ranks[i], [&](const TimelineSpan& span) {
        if (is_of_all_ranks(span)) {
          arrivals_.add(span.number, span.begin_ns, static_cast<int>(i));
        }
        if (!is_chosen(sources_.ranks[i])) return;
        first_ns_ = std::min(first_ns_, span.begin_ns);
        last_ns_ = std::max(last_ns_, span.end_ns);
      });
    }
  }

  bool write(std::FILE* file, MergedTimeline& merged) {
    TraceWriter trace(file, first_ns_);
    std::set<std::string> hosts;
    for (const TimelineSource& source : sources_.ranks) {
      if (!is_chosen(source)) continue;
      merged.ranks.insert(source.head.rank);
      merged.ranks_of_job = source.head.ranks;
      merged.dropped += source.counts.dropped;
      merged.clock_error_ns = std::max(merged.clock_error_ns, source.clock_error_ns());
      hosts.insert(source.head.host);
      write_rank(source, trace, merged);
    }
    merged.hosts = static_cast<int>(hosts.size());
    // Unsigned: a damaged file's times may be further apart than a signed number counts.
    if (last_ns_ > first_ns_)
      merged.seconds = static_cast<double>(static_cast<std::uint64_t>(last_ns_) -
                                           static_cast<std::uint64_t>(first_ns_)) *
                       1e-9;
    merged.left_out = sources_.left_out;
    return trace.finish();
  }

  bool any_chosen() const {
    return std::ranges::any_of(sources_.ranks, [&](const auto& each) { return is_chosen(each); });
  }

 private:
  bool is_chosen(const TimelineSource& source) const {
    return !chosen_ || chosen_->contains(source.head.rank);
  }

  /// Times are on rank 0's clock.
  template <typename Take>
  std::int64_t each_span(const TimelineSource& source, Take take) {
    auto reader = TimelineReader::open(source.path);
    if (!reader) return 0;  // removed since it was found
    while (auto span = reader->next()) {
      const std::int64_t offset = source.offset_ns(span->begin_ns);
      span->begin_ns += offset;
      span->end_ns += offset;
      take(*span);
    }
    return reader->damaged();
  }

  void write_rank(const TimelineSource& source, TraceWriter& trace, MergedTimeline& merged) {
    const int rank = source.head.rank;
    trace.metadata(rank, 0, "process_name", fmt::format(R"("name":"{}")", source.name()));
    trace.metadata(rank, 0, "process_sort_index", fmt::format(R"("sort_index":{})", rank));
    std::uint64_t spans = 0;
    int tracks = 0;
    merged.damaged += each_span(source, [&](const TimelineSpan& span) {
      ++spans;
      tracks = std::max(tracks, span.track);
      write_span(source, span, trace);
      if (span.track > 0 || !in_steps(span.name)) return;
      merged.phase_seconds[std::string(span.name)] +=
          static_cast<double>(span.end_ns - span.begin_ns) * 1e-9;
      if (span.name != "FORWARD") return;
      const std::int64_t step = span.step + 1;
      if (merged.first_step == 0 || step < merged.first_step) merged.first_step = step;
      merged.last_step = std::max(merged.last_step, step);
    });
    for (int track = 0; track <= tracks; ++track) {
      const std::string name = track == 0 ? "training" : fmt::format("collectives {}", track);
      trace.metadata(rank, track, "thread_name", fmt::format(R"("name":"{}")", name));
      trace.metadata(rank, track, "thread_sort_index", fmt::format(R"("sort_index":{})", track));
    }
    merged.spans += spans;
    if (source.counts.written > spans) merged.overwritten += source.counts.written - spans;
  }

  void write_span(const TimelineSource& source, const TimelineSpan& span, TraceWriter& trace) {
    const int rank = source.head.rank;
    std::string name(span.name);
    std::string args = fmt::format(R"("step":{})", span.step + 1);
    if (span.number > 0 && in_steps(span.name)) {
      name += fmt::format(" {}", span.number);
      args += fmt::format(R"(,"micro_batch":{},"stage":{})", span.number, source.head.stage);
    } else if (span.number > 0) {
      args += fmt::format(R"(,"bytes":{},"number":{})", span.bytes,
                          span.number % first_group_collective);
    }
    trace.span(rank, span.track, name, {span.begin_ns, span.end_ns}, args);
    // The last rank is known only if all ranks are present.
    const auto ranks = static_cast<std::size_t>(source.head.ranks);
    if (!is_of_all_ranks(span) || ranks < 2 || sources_.ranks.size() < ranks) return;
    const auto* arrival = arrivals_.find(span.number, ranks);
    if (arrival == nullptr) return;
    const std::int64_t last = std::clamp(arrival->last_ns, span.begin_ns, span.end_ns);
    const auto& late = sources_.ranks[static_cast<std::size_t>(arrival->last)];
    trace.span(rank, span.track, fmt::format("NEGOTIATE_{}", span.name), {span.begin_ns, last},
               fmt::format(R"("last":"{}")", late.name()));
    trace.span(rank, span.track,
               fmt::format("{}_{}", capitals(source.head.communicator), span.name),
               {last, span.end_ns}, "");
  }

  static std::string capitals(std::string text) {
    for (char& c : text) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (c == '-') c = '_';
    }
    return text;
  }

  TimelineSources sources_;
  const std::optional<IdSet>& chosen_;
  Arrivals arrivals_;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

Error cannot_write(const std::string& output) {
  return {ErrorKind::unavailable, fmt::format("cannot write {}: {}", output, std::strerror(errno)),
          "-o FILE writes it elsewhere"};
}

std::string percent(double share) {
  return share > 0 && share < 0.005 ? "<1 %" : fmt::format("{:.0f} %", 100 * share);
}

double sum_of(const std::map<std::string, double>& phases) {
  double sum = 0;
  for (const auto& [name, seconds] : phases) sum += seconds;
  return sum;
}

}  // namespace

Result<MergedTimeline> merge_timelines(const std::string& folder, const std::optional<IdSet>& ranks,
                                       const std::string& output) {
  auto sources = find_timelines(folder);
  if (!sources) return std::move(sources).error();
  Merge merge(*std::move(sources), ranks);
  if (!merge.any_chosen()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("no timeline of rank {} in {}", to_list(*ranks), folder), ""};
  }
  const std::string temporary = temporary_beside(output).string();
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(temporary.c_str(), "we"));
  if (!file) return cannot_write(output);
  merge.survey();
  MergedTimeline merged{.output = output};
  const bool written = merge.write(file.get(), merged);
  std::error_code error;
  merged.bytes = written ? std::filesystem::file_size(temporary, error) : 0;
  if (!written || std::rename(temporary.c_str(), output.c_str()) != 0) {
    const Error why = cannot_write(output);
    std::remove(temporary.c_str());
    return why;
  }
  return merged;
}

std::string render_merged(const MergedTimeline& merged) {
  const double sum = sum_of(merged.phase_seconds);
  std::string text = fmt::format("{}: {} of {}, {} in {:.3g} s, {:.1f} MB\n", merged.output,
                                 merged.ranks.size(), counted(merged.ranks_of_job, "rank"),
                                 counted(static_cast<std::int64_t>(merged.spans), "span"),
                                 merged.seconds, static_cast<double>(merged.bytes) / 1e6);
  text +=
      "  open it in https://ui.perfetto.dev or chrome://tracing; both read it in your browser\n";
  if (merged.last_step > 0) {
    text += fmt::format("  steps      {} to {}:", merged.first_step, merged.last_step);
    const char* comma = "";
    for (const std::string_view phase : step_phases) {
      const auto found = merged.phase_seconds.find(std::string(phase));
      if (found == merged.phase_seconds.end()) continue;
      text +=
          fmt::format("{} {} {}", std::exchange(comma, ","), phase, percent(found->second / sum));
    }
    text += "\n";
  }
  if (merged.hosts > 1) {
    text += fmt::format("  clocks     of {} hosts, aligned to within {:.0f} us\n", merged.hosts,
                        static_cast<double>(merged.clock_error_ns) / 1e3);
  }
  if (merged.overwritten > 0) {
    text += fmt::format("  older      {} spans: the files keep the latest\n", merged.overwritten);
  }
  if (merged.dropped > 0) {
    text += fmt::format("  dropped    {} spans, recorded faster than they could be written\n",
                        merged.dropped);
  }
  for (const auto& line : merged.left_out) text += "  left out   " + line + "\n";
  return text;
}

Json to_json(const MergedTimeline& merged) {
  Json phases = Json::object();
  for (const std::string_view phase : step_phases) {
    const auto found = merged.phase_seconds.find(std::string(phase));
    if (found != merged.phase_seconds.end()) phases[found->first] = found->second;
  }
  return {{"output", merged.output},
          {"bytes", merged.bytes},
          {"ranks", to_list(merged.ranks)},
          {"ranks_of_job", merged.ranks_of_job},
          {"spans", merged.spans},
          {"seconds", merged.seconds},
          {"first_step", merged.first_step},
          {"last_step", merged.last_step},
          {"phase_seconds", phases},
          {"hosts", merged.hosts},
          {"clock_error_ns", merged.clock_error_ns},
          {"overwritten", merged.overwritten},
          {"dropped", merged.dropped},
          {"damaged", merged.damaged},
          {"left_out", merged.left_out}};
}

}  // namespace dllaunch
