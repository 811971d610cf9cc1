// Tables of a run for spreadsheets and pandas (RFC 4180).
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

/// Quoted where it must be.
std::string csv_field(std::string_view text);
/// Reads back as the same double; NA where there is none, as Keras's CSVLogger has it.
std::string csv_field(std::optional<double> number);

/// A row for each class an image has, a column for each it was given; metrics.has_matrix().
std::string render_confusion(const Metrics& metrics, std::span<const std::string> class_names);
/// A row for each class: class, images, predicted, precision, recall, f1.
std::string render_classes(const Metrics& metrics, std::span<const std::string> class_names);

/// What a file of one row an epoch keeps when the epochs from `epoch` on are trained (again): its
/// header, and the rows of earlier epochs that are whole. Nothing where its header is another.
std::optional<std::string> rows_before(std::string_view text, std::string_view header,
                                       std::int64_t epoch);

/// metrics.csv: a row an epoch, of the numbers that `columns` name.
class MetricsCsv {
 public:
  MetricsCsv(std::filesystem::path file, std::span<const std::string_view> columns);

  /// The first one makes room: rows of this epoch and later ones go, a table with other columns is
  /// set aside as FILE.1. So does one that finds rows of somebody else, an earlier life of the run
  /// that had not stopped yet. unavailable: the file system refuses.
  Result<Ok> append(std::int64_t epoch, std::span<const std::optional<double>> numbers);

 private:
  Result<Ok> make_room(std::int64_t epoch) const;

  std::filesystem::path file_;
  std::string header_;
  std::optional<std::int64_t> first_;  // epoch that was asked for, written or not
  bool begun_ = false;
  std::optional<std::uintmax_t> size_;  // as we left the file
};

}  // namespace dllaunch
