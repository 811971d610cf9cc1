// Data sets: labelled images, or sequences of tokens, by index. One file per data set in this
// folder. Knows nothing about batches, ranks or sampling.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

enum class Split { train, validation };

/// Per channel, for pixels scaled to 0..1. The network's input is (pixel / 255 - mean) / std.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std;
};

/// Images, or sequences of tokens, in memory, in files, or generated; in the rest of the trainer an
/// image stands for either. read(), read_floats() and read_tokens() must be thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const ImageShape& image_shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual std::int64_t size(Split split) const = 0;

  /// Writes image `index` as [channels, height, width] and returns its label. bad_request: this
  /// image is permanently bad; `what` names its file. Other errors come from the storage.
  virtual Result<std::int32_t> read(Split split, std::int64_t index,
                                    std::span<std::uint8_t> pixels) const = 0;

  /// True if pixels are finite floats of any range, already scaled. Then read_floats() is used and
  /// read() is not called.
  virtual bool floats() const { return false; }
  virtual Result<std::int32_t> read_floats(Split split, std::int64_t index,
                                           std::span<float> pixels) const;

  /// Returns a hash of the images' names and labels in order: equal on ranks that see the same
  /// files. 0: the images are generated.
  virtual std::uint64_t listing_key(Split) const { return 0; }
  /// The kind of targets. Unless it is class_index, read() and read_floats() return 0 and
  /// read_targets() writes classes() numbers. bad_request as for read().
  virtual TargetKind targets() const { return TargetKind::class_index; }
  virtual Result<Ok> read_targets(Split split, std::int64_t index, std::span<float> row) const;

  /// Returns how many training images, evenly spaced, measure_normalization() reads.
  virtual std::int64_t images_to_measure() const { return size(Split::train); }

  /// Tokens of a sample; 0: images. If not 0, only read_tokens() is called, image_shape() is
  /// [1, 1, tokens], and class_names() is empty.
  virtual int tokens() const { return 0; }
  /// Writes the ids of sample `index`, and for each of them the id that follows: [tokens] both,
  /// 0 .. classes() - 1. bad_request as for read().
  virtual Result<Ok> read_tokens(Split split, std::int64_t index, std::span<float> ids,
                                 std::span<std::int32_t> next) const;
  /// Reads part `part` of `parts` of all files and checks what only reading shows. bad_request
  /// names the file. Only data sets of tokens do: other checks are part of opening.
  virtual Result<Ok> check(int /*part*/, int /*parts*/) const { return Ok{}; }

  /// Number of classes, of target values per image, or of ids in the vocabulary.
  virtual int classes() const { return static_cast<int>(class_names().size()); }
  std::size_t pixels() const {
    const ImageShape& shape = image_shape();
    return static_cast<std::size_t>(shape.channels) * static_cast<std::size_t>(shape.height) *
           static_cast<std::size_t>(shape.width);
  }
};

/// Returns the mean and standard deviation per channel. Exact for bytes (integer sums), so
/// identical on every rank and machine. A constant channel has a standard deviation of 1. Errors
/// are the data set's. With `skip_bad`, bad images (bad_request) are ignored unless all are bad.
Result<Normalization> measure_normalization(const Dataset& dataset, bool skip_bad = false);

/// Adds the hint about `on_bad` to the error for a bad image. read() leaves it to its caller, which
/// knows whether bad images are skipped.
Error with_skip_hint(Error error);

/// The `dataset:` block without `name`. Absent values take the data set's default.
struct DatasetOptions {
  std::string path;
  std::optional<std::int64_t> images = {};
  std::optional<int> classes = {};
  std::optional<int> channels = {};
  std::optional<int> image_size = {};
  std::optional<int> sequence = {};  // tokens of a sample
  std::string layout = "nhwc";       // or nchw
  bool skip_bad = false;             // bad images are reported by read(), not by open()
  std::uint64_t seed = 1;
};

/// One row per data set. The build generates the table from trainer/data/datasets/*.cpp.
struct DatasetEntry {
  std::string_view name;  // the name in a job file
  std::string_view summary;
  bool files = true;  // stored under a path; otherwise generated, with sizes as options
  /// Opens the data set. bad_request names the missing or damaged file.
  Result<std::unique_ptr<Dataset>> (*open)(const DatasetOptions& options);
  /// Options besides path: some of images, classes, channels, layout, sequence, image_size.
  std::string_view takes = "";
};
std::span<const DatasetEntry> datasets();

/// Returns nullptr for an unknown name.
const DatasetEntry* find_dataset(std::string_view name);

}  // namespace dllaunch
