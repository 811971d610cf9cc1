// A sweep as records of Optuna's JournalStorage, one JSON object a line, and back. Pure.
// Format: optuna/storages/journal/_storage.py of Optuna 3 to 5.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/sweep/space.hpp"
#include "launcher/sweep/sweep.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// When a record is written: Unix seconds, as ISO 8601 in UTC.
std::string iso_time(double unix_s);

/// How Optuna writes a distribution: JSON in a text.
std::string distribution_of(const Parameter& parameter);

Json study_record(const std::string& name, bool minimize);

/// A trial with its parameters, running. It gets the next free number of the study with this id.
Json trial_record(const std::vector<Parameter>& space, const Trial& trial, int study,
                  double unix_s);

/// What Optuna has no field for: state, target, run, reason, attempts, GPU time. Optuna keeps it as
/// the user attribute "dllaunch". `id`: the trial's in the file.
Json own_record(int id, const Trial& trial);

Json value_record(int id, std::int64_t epoch, double value);

/// The end: completed with its value, failed, or pruned if it was stopped.
Json end_record(int id, const Trial& trial, double unix_s);

/// The trials of one study, from the records of a file that others may write to too: another
/// study's records, unknown ones and lines that are no JSON are skipped.
class OptunaReplay {
 public:
  explicit OptunaReplay(std::string study) : study_(std::move(study)) {}

  /// One line without its newline.
  void take(std::string_view line);

  bool has_study() const { return study_id_ >= 0; }
  int study_id() const { return study_id_; }
  const std::vector<Trial>& trials() const { return trials_; }
  /// Whether the trial's end is in the file.
  bool ended(int number) const { return ended_.contains(number); }
  /// A trial's id in the file, by its number; trials of other studies count too.
  int id_of(int number) const { return ids_[static_cast<std::size_t>(number)]; }

 private:
  void create(const Json& record);
  Trial* at(const Json& record);

  std::string study_;
  int studies_ = 0;
  int study_id_ = -1;
  int next_id_ = 0;             // of a trial
  std::map<int, int> numbers_;  // by id; of this study
  std::set<int> ended_ = {};    // numbers: later records of them do not count
  std::vector<int> ids_;
  std::vector<Trial> trials_;
};

}  // namespace dllaunch
