// One of several runs that are compared, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/provenance/provenance.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct ComparedEpoch {
  std::int64_t epoch = 0;
  double wall_s = 0;  // since the run's first start, with restarts
  std::optional<double> loss = {};
  std::optional<double> accuracy = {};
  std::optional<double> val_loss = {};
  std::optional<double> val_accuracy = {};
  std::optional<double> images_per_s = {};
};

/// One size of a scaling study.
struct ComparedSize {
  int ranks = 1;
  double value = 0;
  double low = 0;  // least and largest repeat
  double high = 0;
  double efficiency = 1;
};

enum class ComparedKind : std::uint8_t { run, study, sweep };

struct ComparedRun {
  std::string label = {};  // short, and different for each
  std::string path = {};   // of the run, the study or the sweep
  ComparedKind kind = ComparedKind::run;
  std::string run = {};  // the directory that speaks for a study or a sweep; empty: `path`
  std::string state = {};
  int ranks = 1;
  int nodes = 1;
  std::string hosts = {};              // on which its ranks ran last; empty: unknown
  std::string hardware = {};           // of a node: "4 x NVIDIA A100, 64 cores, 4 NUMA nodes"
  std::optional<double> value = {};    // its throughput, or what `study:` measures
  std::string unit = {};               // of the value
  std::optional<double> goodput = {};  // 0 .. 1
  std::optional<std::int64_t> restarts = {};
  std::optional<double> seconds = {};  // wall time without the queue
  Json summary = {};                   // RUN/summary.json; null: none yet
  std::vector<ComparedEpoch> epochs = {};
  std::vector<ComparedSize> sizes = {};         // of a study
  Json job = {};                                // as resolved; null: unknown
  std::optional<SubmissionRecord> origin = {};  // of its newest start; nullopt: not recorded
  std::optional<std::string> code_diff = {};    // RUN/code.diff
  std::vector<std::string> notes = {};          // what of it could not be read
};

/// A run that was asked for and cannot be compared.
struct LeftOutRun {
  std::string query = {};
  std::string why = {};
};

}  // namespace dllaunch
