// TensorBoard event files: TFRecord frames around protocol buffer Event messages. Encodes by hand
// the few fields that scalars, texts and histograms need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "trainer/config/config.hpp"

namespace dllaunch {

struct Scalar {
  std::string tag;
  double value = 0;
};

/// Counts in `counts.size()` equal bins between minimum and maximum, like Keras's and PyTorch's
/// histograms. Ignores values that are not finite.
struct Histogram {
  std::string tag;
  double least = 0;
  double most = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> counts;

  static constexpr int bins = 30;
};
Histogram make_histogram(std::string tag, std::span<const double> values);

/// Framed Event messages. `wall_s` is Unix time.
std::string version_record(double wall_s);
/// Start or continuation of training at `step`: TensorBoard discards this and later steps of
/// earlier files.
std::string begin_record(double wall_s, std::int64_t step);
std::string scalars_record(double wall_s, std::int64_t step, std::span<const Scalar> scalars);
std::string histograms_record(double wall_s, std::int64_t step,
                              std::span<const Histogram> histograms);
/// A table in the TEXT tab and the run's row in the HPARAMS tab.
std::string settings_record(double wall_s, std::int64_t step, std::span<const Setting> settings);

/// The event file of this process. Every call writes complete records unbuffered, so nothing is
/// lost if the process is killed.
class TensorBoard {
 public:
  /// Creates `folder` and a new file whose name sorts after all others: TensorBoard shows the files
  /// of a folder as one run, in this order. unavailable: an I/O error.
  static Result<TensorBoard> open(const std::filesystem::path& folder, const std::string& host);

  TensorBoard(TensorBoard&& other) noexcept;
  TensorBoard& operator=(TensorBoard&& other) noexcept;
  ~TensorBoard();

  /// Writes records made by the functions above. unavailable: an I/O error; a partial write is
  /// truncated.
  Result<Ok> write(std::string_view records);
  const std::filesystem::path& file() const { return path_; }

 private:
  TensorBoard() = default;

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace dllaunch
