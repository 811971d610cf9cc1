// CSV files of a run for spreadsheets and pandas (RFC 4180).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "trainer/metrics/metrics.hpp"

namespace dllaunch {

/// Returns `text`, quoted if necessary.
std::string csv_field(std::string_view text);
/// Returns the shortest text that reads back as the same double; "NA" if absent, like Keras's
/// CSVLogger.
std::string csv_field(std::optional<double> number);

/// Returns the confusion matrix: a row per actual class, a column per predicted class. Requires
/// metrics.has_matrix().
std::string render_confusion(const Metrics& metrics, std::span<const std::string> class_names);
/// Returns a row per class: class, images, predicted, precision, recall, f1.
std::string render_classes(const Metrics& metrics, std::span<const std::string> class_names);

/// Returns what a table with one row per epoch keeps when training continues at `epoch`: the
/// header and the complete rows of earlier epochs. nullopt if the header differs.
std::optional<std::string> rows_before(std::string_view text, std::string_view header,
                                       std::int64_t epoch);

/// A table of epochs: its first column is the epoch, which `columns` does not contain.
class EpochTable {
 public:
  EpochTable(std::filesystem::path file, std::span<const std::string_view> columns);

  /// The first call removes rows of this and later epochs and renames a table with other columns to
  /// FILE.1. Later calls do the same if another process, such as a previous incarnation that is
  /// still running, has changed the file. unavailable: an I/O error.
  Result<Ok> append(std::int64_t epoch, std::span<const std::optional<double>> numbers);
  /// The same for an epoch with several rows, each "EPOCH,...\n" with as many fields as columns.
  Result<Ok> append(std::int64_t epoch, const std::string& rows);

 private:
  Result<Ok> make_room(std::int64_t epoch) const;

  std::filesystem::path file_;
  std::string header_;
  std::optional<std::int64_t> first_;  // first epoch appended by this process, written or not
  bool begun_ = false;
  std::optional<std::uintmax_t> size_;  // size after our last write
};

}  // namespace dllaunch
