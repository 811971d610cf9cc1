// Event files that TensorBoard shows: TFRecord frames around Event messages of protocol buffers, of
// which the few fields that scalars, texts and histograms need are encoded here by hand.
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

/// Counts of numbers in `counts.size()` equal bins between the least and the greatest of them, as
/// Keras's and PyTorch's histograms; what is no finite number is left out.
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

/// Event messages, each in its frame. `wall_s`: Unix seconds.
std::string version_record(double wall_s);
/// Training begins, or goes on, with `step`: TensorBoard forgets what earlier files have of it and
/// of later steps.
std::string begin_record(double wall_s, std::int64_t step);
std::string scalars_record(double wall_s, std::int64_t step, std::span<const Scalar> scalars);
std::string histograms_record(double wall_s, std::int64_t step,
                              std::span<const Histogram> histograms);
/// A table under TEXT, and the row of the run under HPARAMS.
std::string settings_record(double wall_s, std::int64_t step, std::span<const Setting> settings);

/// One event file of this process. Every call writes whole records at once and nothing waits in a
/// buffer: whoever kills the process, TensorBoard reads all that was written.
class TensorBoard {
 public:
  /// Makes `folder` and a new file in it, whose name comes after all others': TensorBoard shows the
  /// files of a folder as one run, in this order.
  /// unavailable: the file system refuses.
  static Result<TensorBoard> open(const std::filesystem::path& folder, const std::string& host);

  TensorBoard(TensorBoard&& other) noexcept;
  TensorBoard& operator=(TensorBoard&& other) noexcept;
  ~TensorBoard();

  /// Records as above. unavailable: why; what was written of it is cut off again.
  Result<Ok> write(std::string_view records);
  const std::filesystem::path& file() const { return path_; }

 private:
  TensorBoard() = default;

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace dllaunch
