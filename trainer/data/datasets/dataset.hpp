// Where images come from. One file a kind in trainer/data/datasets/.
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

/// Per channel, on pixels scaled to 0..1: a network sees (pixel / 255 - mean) / std.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std;
};

/// Images in memory or made on demand. read() is called by several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const ImageShape& image_shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual std::int64_t size(Split split) const = 0;

  /// Writes image `index` as [channels, height, width] and returns its label.
  /// bad_request: this image is bad, and stays so; `what` names its file. Other errors: the
  /// storage.
  virtual Result<std::int32_t> read(Split split, std::int64_t index,
                                    std::span<std::uint8_t> pixels) const = 0;

  /// Pixels are finite floats of any range, which count as scaled already: they are read by
  /// read_floats(), and read() is not called.
  virtual bool floats() const { return false; }
  virtual Result<std::int32_t> read_floats(Split split, std::int64_t index,
                                           std::span<float> pixels) const;

  /// Of what the images are called and labelled, in their order: ranks that see the same files have
  /// the same one. 0: the images are made up.
  virtual std::uint64_t listing_key(Split) const { return 0; }
  /// What is known of every image. Where it is no class, read() and read_floats() return 0, and
  /// read_targets() gives the classes() numbers that are. bad_request: as of read().
  virtual TargetKind targets() const { return TargetKind::class_index; }
  virtual Result<Ok> read_targets(Split split, std::int64_t index, std::span<float> row) const;

  /// How many images of the training split, evenly spread over it, measure_normalization() reads.
  virtual std::int64_t images_to_measure() const { return size(Split::train); }

  /// Classes, or numbers that are known of an image.
  int classes() const { return static_cast<int>(class_names().size()); }
  std::size_t pixels() const {
    const ImageShape& shape = image_shape();
    return static_cast<std::size_t>(shape.channels) * static_cast<std::size_t>(shape.height) *
           static_cast<std::size_t>(shape.width);
  }
};

/// Of bytes exact: sums of integers, so every rank and machine gets the same numbers. A constant
/// channel counts as having a standard deviation of 1. Any Error is the data set's own.
/// With `skip_bad`, images that are bad (bad_request) are left out, unless all are.
Result<Normalization> measure_normalization(const Dataset& dataset, bool skip_bad = false);

/// For a bad image that stops the training: what else could be done.
Error with_skip_hint(Error error);

/// The `dataset:` block without its kind; what is absent is the kind's own choice.
struct DatasetOptions {
  std::string path;
  std::optional<std::int64_t> images = {};
  std::optional<int> classes = {};
  std::optional<int> channels = {};
  std::optional<int> image_size = {};
  std::string layout = "nhwc";  // or nchw
  bool skip_bad = false;        // bad images are left for read() to tell; else open() may
  std::uint64_t seed = 1;
};

/// One line a kind; the table is written by the build from trainer/data/datasets/*.cpp.
struct DatasetEntry {
  std::string_view name;  // what the user types
  std::string_view summary;
  bool files = true;  // lives under a path; otherwise it is made up and takes sizes instead
  /// Reads or prepares everything. bad_request: what is missing or damaged, naming the file.
  Result<std::unique_ptr<Dataset>> (*open)(const DatasetOptions& options);
  /// Which of images, classes, channels and layout it takes beside path and image_size.
  std::string_view takes = "";
};
std::span<const DatasetEntry> datasets();

/// nullptr: no such kind.
const DatasetEntry* find_dataset(std::string_view name);

}  // namespace dllaunch
