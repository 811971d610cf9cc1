#include "launcher/report/run_series.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "launcher/os/line_tail.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

class SeriesReader {
 public:
  void take(const std::string& line) {
    if (line.find(R"("event":"gpus")") != std::string::npos) {
      take_gpus(json_object_in(line));
      return;
    }
    const auto event = parse_event(line);
    const auto before = series_.history.step();
    if (!event || !series_.history.take(*event)) return;
    fencing_token_ = fencing_token_of(*event);
    // A start that continues from an earlier step, or from none: what came after it is lost.
    if (series_.history.step() < before) forget_after(series_.history.step());
    follow(*event);
    std::visit([this](const auto& one) { add(one); }, *event);
    if (std::holds_alternative<RanksEvent>(*event)) series_.ranks = json_object_in(line);
  }

  RunSeries take_series() && {
    auto& steps = series_.steps;
    if (newest_ && (steps.empty() || steps.back().step < newest_->step)) steps.push_back(*newest_);
    return std::move(series_);
  }

 private:
  static std::int64_t epoch_of(const Json& gpus) {
    return value_at<std::int64_t>(gpus, "epoch", -1);
  }

  /// GPUs of an epoch follow it, from the same incarnation: where the epoch counts, they do.
  void take_gpus(Json gpus) {
    if (!gpus.is_object() || series_.epochs.empty() ||
        epoch_of(gpus) != series_.epochs.back().epoch ||
        value_at<std::int64_t>(gpus, "generation") != fencing_token_)
      return;
    forget_gpus_from(epoch_of(gpus));
    series_.gpus.push_back(std::move(gpus));
  }

  void forget_gpus_from(std::int64_t epoch) {
    auto& gpus = series_.gpus;  // they ascend
    while (!gpus.empty() && epoch_of(gpus.back()) >= epoch) gpus.pop_back();
  }

  void forget_after(std::int64_t step) {
    auto& steps = series_.steps;  // they ascend, and so do epochs
    auto& epochs = series_.epochs;
    while (!steps.empty() && steps.back().step > step) steps.pop_back();
    while (!epochs.empty() && epochs.back().step > step) epochs.pop_back();
    forget_gpus_from(series_.epochs.empty() ? 0 : series_.epochs.back().epoch + 1);
    newest_.reset();
  }

  /// A supervisor announces a restart while nothing trains: it neither begins nor lengthens one.
  void follow(const Event& event) {
    auto& all = series_.starts;
    const double time_s = time_of(event);
    if (std::holds_alternative<RestartEvent>(event)) return;
    if (all.empty() || std::holds_alternative<StartEvent>(event)) {
      if (all.size() == RunSeries::most_starts) {
        all.erase(all.begin());
        ++series_.starts_left_out;
      }
      all.push_back({.from_s = time_s, .to_s = time_s});
    }
    all.back().to_s = std::max(all.back().to_s, time_s);
  }

  template <typename Other>
  void add(const Other&) {}

  void add(const StartEvent& event) { series_.start = event; }

  void add(const StepEvent& event) {
    auto& steps = series_.steps;
    while (!steps.empty() && steps.back().step >= event.step) steps.pop_back();
    newest_ = event;
    if (series_.steps_recorded++ % every_ != 0) return;
    steps.push_back(event);
    if (steps.size() < RunSeries::most_steps) return;
    for (std::size_t i = 0; i < steps.size() / 2; ++i) steps[i] = steps[2 * i + 1];
    steps.resize(steps.size() / 2);
    every_ *= 2;
  }

  void add(const EpochEvent& event) {
    auto& epochs = series_.epochs;
    while (!epochs.empty() && epochs.back().epoch >= event.epoch) epochs.pop_back();
    epochs.push_back(event);
    forget_gpus_from(event.epoch);
  }

  RunSeries series_;
  std::optional<StepEvent> newest_;
  std::int64_t every_ = 1;
  std::int64_t fencing_token_ = 0;  // of the latest event that counts
};

}  // namespace

RunSeries read_series(const std::string& events_path) {
  SeriesReader reader;
  for_each_line(events_path, [&reader](const std::string& line) { reader.take(line); });
  return std::move(reader).take_series();
}

}  // namespace dllaunch
