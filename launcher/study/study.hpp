// A scaling study: one job at several sizes, what was measured, and what follows from it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/study/scaling_fit.hpp"
#include "runtime/allreduce/model/allreduce_model.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// One run of the job at one size.
struct StudyRun {
  int ranks = 1;
  int nodes = 1;
  int repeat = 1;           // 1-based
  std::string run = {};     // its directory, below the study's
  std::string state = {};   // of summary.json; empty: not run yet
  std::string reason = {};  // why it has no value; empty: it has one, or did not run
  std::optional<double> value = {};
  std::optional<double> epoch_s = {};  // with `train:`: median, without the first epoch
  std::vector<double> parts = {};      // seconds of an epoch, by rank_parts; mean over ranks
  // With `train:`: the images of an optimiser step, and what every rank reduces in it, in fp32.
  std::optional<std::int64_t> global_batch = {};
  std::optional<std::int64_t> gradient_bytes = {};
  std::string communicator = {};
};

/// What `bench allreduce` measured.
struct MeasuredAllReduce {
  AllReduceModel model = {};
  JobShape shape = {};
  std::vector<std::pair<double, double>> us_of_bytes = {};  // by bytes, rising
};

struct Study {
  std::string name = {};
  Scaling scaling = Scaling::strong;
  bool trains = false;
  std::string unit = {};         // of the value: "images/s"
  bool lower_is_better = false;  // a time; else a rate
  double efficiency = 0.8;       // the least that is worth it, 0 .. 1
  bool local = false;            // without Slurm
  std::string job = {};          // a digest of the resolved job file of all runs
  std::vector<StudyRun> runs = {};
  std::optional<MeasuredAllReduce> allreduce = {};
};

/// All repeats of one size.
struct StudyPoint {
  int ranks = 1;
  int nodes = 1;
  int repeats = 0;
  double value = 0;  // median, like epoch_s
  double low = 0;    // least and largest repeat
  double high = 0;
  std::optional<double> epoch_s = {};
  double speedup = 1;     // over the smallest size; with weak scaling, of the work done in a time
  double efficiency = 1;  // speedup / (ranks / smallest ranks)
  std::vector<double> parts = {};
};

struct StudyPrediction {
  int ranks = 1;
  double value = 0;
  double low = 0;
  double high = 0;
  double efficiency = 0;
};

struct StudyResult {
  std::vector<StudyPoint> points = {};            // by ranks; sizes without a value are left out
  std::optional<ScalingFit> fit = {};             // with two sizes or more
  double spread = 0;                              // relative_spread()
  std::vector<StudyPrediction> predictions = {};  // 2, 4 and 8 times the largest size
  /// The most ranks, in steps of the smallest size and beyond a node of whole nodes, at which the
  /// fit still has the wished efficiency; nullopt: 64 times the largest size have it, or there is
  /// no fit.
  std::optional<int> worth_it = {};
};

StudyResult result_of(const Study& study);

/// A sentence: where the fit's exchange comes from. Empty without a fit.
std::string exchange_of(const Study& study, const StudyResult& result);

/// A sentence: up to how many ranks the wished efficiency is kept. Empty without a fit.
std::string advice_of(const Study& study, const StudyResult& result);

/// study.json; read_study() takes the runs back from it, and what their values mean. It skips what
/// it cannot read.
Json to_json(const Study& study, const StudyResult& result);
Study read_study(const Json& document);

/// "82 %" of 0.82.
std::string percent_text(double share);

/// A table for a terminal with the predictions; and study.csv: what was measured.
std::string render_study(const Study& study, const StudyResult& result);
std::string study_csv(const Study& study, const StudyResult& result);

}  // namespace dllaunch
