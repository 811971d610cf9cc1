#include "launcher/report/run_series.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "launcher/os/line_tail.hpp"
#include "launcher/os/stored_json.hpp"

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
    if (!event || !series_.history.take(*event)) return;
    follow(time_of(*event), std::holds_alternative<StartEvent>(*event));
    std::visit([this](const auto& one) { add(one); }, *event);
    if (std::holds_alternative<RanksEvent>(*event)) series_.ranks = json_object_in(line);
  }

  RunSeries take_series() && { return std::move(series_); }

 private:
  /// GPUs of an epoch follow it: where the epoch counts, they do.
  void take_gpus(Json gpus) {
    const auto epoch = gpus.is_object() ? gpus.find("epoch") : gpus.end();
    if (epoch == gpus.end() || !epoch->is_number_integer() || series_.epochs.empty()) return;
    if (epoch->get<std::int64_t>() != series_.epochs.back().epoch) return;
    series_.gpus.push_back(std::move(gpus));
  }

  void follow(double time_s, bool starts) {
    auto& all = series_.starts;
    if (all.empty() || starts) {
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

  void add(const RestartEvent&) {
    // What came after the checkpoint was lost.
    const auto step = series_.history.step();
    std::erase_if(series_.steps, [step](const StepEvent& one) { return one.step > step; });
    std::erase_if(series_.epochs,
                  [step](const EpochEvent& one) { return one.step && *one.step > step; });
    std::erase_if(series_.gpus, [this](const Json& one) {
      const auto epoch = one.find("epoch")->get<std::int64_t>();
      return series_.epochs.empty() || epoch > series_.epochs.back().epoch;
    });
  }

  void add(const StepEvent& event) {
    auto& steps = series_.steps;
    while (!steps.empty() && steps.back().step >= event.step) steps.pop_back();
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
  }

  void add(const CheckpointEvent& event) {
    if (series_.saved.size() == RunSeries::most_steps) series_.saved.erase(series_.saved.begin());
    series_.saved.push_back(event);
  }

  RunSeries series_;
  std::int64_t every_ = 1;
};

}  // namespace

RunSeries read_series(const std::string& events_path) {
  SeriesReader reader;
  LineTail events(events_path);
  do {
    for (const auto& line : events.read()) reader.take(line);
  } while (events.behind());
  reader.take(events.take_rest());
  return std::move(reader).take_series();
}

}  // namespace dllaunch
