// A run's events, in a file.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "launcher/report/run_series.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

class WrittenEvents : public testing::Test {
 protected:
  WrittenEvents() { begin(1); }
  void begin(int generation) {
    generation_ = generation;
    add(R"("event":"start","ranks":2,"model":"lenet","epochs":4)");
  }
  void add(const std::string& fields) {
    text_ += fmt::format("{{\"time\":{},{},\"generation\":{}}}\n", time_ += 1, fields, generation_);
  }
  void steps(int first, int last) {
    for (int step = first; step <= last; ++step)
      add(fmt::format(R"("event":"step","epoch":{},"step":{},"loss":{},"lr":0.1)", (step + 9) / 10,
                      step, 10.0 / step));
  }
  void epoch(int number) {
    add(fmt::format(R"("event":"epoch","epoch":{},"step":{},"accuracy":0.5,"val_accuracy":0.25,)"
                    R"("val_loss":2,"images_per_s":100)",
                    number, 10 * number));
    add(fmt::format(R"("event":"ranks","epoch":{},"notes":["rank 1 is late"])", number));
    add(fmt::format(
        R"("event":"gpus","epoch":{},"power_w":[1,2,3,4,5],"utilisation":[0,0,null,1,1])", number));
  }
  void resume(int step) {
    begin(generation_ + 1);
    add(fmt::format(R"("event":"restart","reason":"resume","from":"/c/step-{}","step":{})", step,
                    step));
  }
  RunSeries read() {
    std::ofstream(folder_.path() + "/events.jsonl") << text_;
    return read_series(folder_.path() + "/events.jsonl");
  }

  const TemporaryFolder folder_;
  std::string text_;
  double time_ = 1000;
  int generation_ = 1;
};

}  // namespace dllaunch
