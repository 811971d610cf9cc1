// Arrays written by numpy.save: images as bytes or floats, and a label or target for each.
//
// train_images.npy [n,h,w] or [n,h,w,c] (`layout: nchw`: [n,c,h,w]), train_labels.npy, and the same
// with val_. Images stay in the file.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/random.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/datasets/npy_header.hpp"
#include "trainer/data/datasets/npy_targets.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct NpySplit {
  NpyFile images;
  NpyTargets targets;
  ImageShape shape;
};

Error wrong(const fs::path& file, const std::string& what, std::string hint = "") {
  return {ErrorKind::bad_request, file.string() + ": " + what, std::move(hint)};
}

/// Returns the shape of one image in an array of images.
Result<ImageShape> shape_of(const NpyFile& images, bool channels_first) {
  const auto& shape = images.header.shape;
  const auto& file = images.file.path();
  const bool bytes = images.header.kind == 'u' && images.header.item_bytes == 1;
  if (!bytes && !(images.header.kind == 'f' && images.header.item_bytes == 4)) {
    return wrong(
        file, fmt::format("images are of type {}{}", images.header.kind, images.header.item_bytes),
        "save .astype('uint8') (0..255) or .astype('float32')");
  }
  if (shape.size() != 3 && shape.size() != 4) {
    return wrong(
        file, fmt::format("images have shape ({}), not (n, height, width) or (n, {})",
                          fmt::join(shape, ", "),
                          channels_first ? "channels, height, width" : "height, width, channels"));
  }
  constexpr std::uint64_t largest = 1 << 20;
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] < 1 || shape[i] > largest) {
      return wrong(file, fmt::format("images have shape ({})", fmt::join(shape, ", ")));
    }
  }
  if (shape[0] == 0) return wrong(file, "holds no images");
  const auto extent = [&](std::size_t axis) { return static_cast<int>(shape[axis]); };
  if (shape.size() == 3) return ImageShape{.channels = 1, .height = extent(1), .width = extent(2)};
  if (channels_first) {
    return ImageShape{.channels = extent(1), .height = extent(2), .width = extent(3)};
  }
  return ImageShape{.channels = extent(3), .height = extent(1), .width = extent(2)};
}

Result<NpySplit> open_split(const fs::path& folder, const std::string& name, bool channels_first) {
  auto images = open_npy(folder / (name + "_images.npy"));
  if (!images) return std::move(images).error();
  auto shape = shape_of(*images, channels_first);
  if (!shape) return std::move(shape).error();
  auto targets = open_npy_targets(folder / (name + "_labels.npy"), images->header.shape[0]);
  if (!targets) return std::move(targets).error();
  return NpySplit{*std::move(images), *std::move(targets), *shape};
}

Error beyond_the_classes(const NpySplit& split, std::int64_t index, int classes) {
  const std::int32_t label = split.targets.labels[static_cast<std::size_t>(index)];
  return wrong(
      split.targets.file.file.path(),
      fmt::format("label {} of image {} is out of range 0..{}", label, index, classes - 1));
}

template <typename Value>
std::string_view bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

/// Hashes a thousand rows spread over the file, which may be large.
std::uint64_t key_of_rows(const NpyTargets& targets, std::int64_t images) {
  constexpr std::int64_t most = 1000;
  std::uint64_t key = 0;
  std::vector<float> row(static_cast<std::size_t>(targets.width));
  for (std::int64_t i = 0; i < std::min(images, most); ++i) {
    const std::int64_t index = images <= most ? i : i * (images / most);
    if (targets.read(index, row)) key = random_key(key, bytes_of(row));
  }
  return key;
}

class NpyDataset : public Dataset {
 public:
  NpyDataset(NpySplit train, NpySplit validation, int classes, bool channels_first)
      : train_(std::move(train)),
        validation_(std::move(validation)),
        channels_first_(channels_first) {
    for (int k = 0; k < classes; ++k) class_names_.push_back(std::to_string(k));
  }

  const ImageShape& image_shape() const override { return train_.shape; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  bool floats() const override { return train_.images.header.kind == 'f'; }
  std::int64_t size(Split split) const override {
    return static_cast<std::int64_t>(of(split).images.header.shape[0]);
  }
  TargetKind targets() const override { return train_.targets.kind; }
  Result<Ok> read_targets(Split split, std::int64_t index, std::span<float> row) const override {
    return of(split).targets.read(index, row);
  }

  std::uint64_t listing_key(Split split) const override {
    const NpyTargets& targets = of(split).targets;
    if (targets.kind != TargetKind::class_index) return key_of_rows(targets, size(split));
    return random_key(0, bytes_of(targets.labels));
  }

  /// Of a set larger than memory, enough for three digits.
  std::int64_t images_to_measure() const override {
    constexpr std::int64_t most_pixels = std::int64_t{1} << 26;
    return std::clamp<std::int64_t>(most_pixels / static_cast<std::int64_t>(pixels()), 1,
                                    size(Split::train));
  }

  Result<std::int32_t> read(Split split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    return read_as<std::uint8_t>(split, index, pixels);
  }

  Result<std::int32_t> read_floats(Split split, std::int64_t index,
                                   std::span<float> pixels) const override {
    auto label = read_as<float>(split, index, pixels);
    if (label && !std::ranges::all_of(pixels, [](float pixel) { return std::isfinite(pixel); })) {
      return wrong(of(split).images.file.path(),
                   fmt::format("image {} holds a NaN or an infinity", index));
    }
    return label;
  }

 private:
  const NpySplit& of(Split split) const { return split == Split::train ? train_ : validation_; }

  template <typename Pixel>
  Result<std::int32_t> read_as(Split split, std::int64_t index, std::span<Pixel> pixels) const {
    const NpySplit& from = of(split);
    std::int32_t label = 0;
    if (targets() == TargetKind::class_index) {
      label = from.targets.labels[static_cast<std::size_t>(index)];
      if (label < 0 || label >= classes()) return beyond_the_classes(from, index, classes());
    }
    const std::span bytes(reinterpret_cast<std::uint8_t*>(pixels.data()), pixels.size_bytes());
    const auto begin =
        from.images.header.data_begin + static_cast<std::uint64_t>(index) * pixels.size_bytes();
    const auto channels = static_cast<std::size_t>(from.shape.channels);
    if (channels_first_ || channels == 1) {
      if (auto read = from.images.file.read(begin, bytes); !read) return std::move(read).error();
      return label;
    }
    std::vector<Pixel> interleaved(pixels.size());
    const std::span raw(reinterpret_cast<std::uint8_t*>(interleaved.data()), bytes.size());
    if (auto read = from.images.file.read(begin, raw); !read) return std::move(read).error();
    const std::size_t plane = pixels.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < plane; ++p) pixels[c * plane + p] = interleaved[p * channels + c];
    }
    return label;
  }

  NpySplit train_;
  NpySplit validation_;
  bool channels_first_;
  std::vector<std::string> class_names_;
};

/// Returns the number of classes: the row width, the user's, or the largest training label + 1.
Result<int> count_classes(const NpySplit& train, const DatasetOptions& options) {
  const int width = train.targets.width;
  if (width > 0 && options.classes.value_or(width) != width) {
    return wrong(train.targets.file.file.path(),
                 fmt::format("has {} numbers for each image, dataset.classes is {}", width,
                             *options.classes));
  }
  if (width > 0) return width;
  if (options.classes) return *options.classes;
  constexpr std::int32_t most = 1 << 20;
  const std::int32_t last = *std::ranges::max_element(train.targets.labels);
  if (last >= 0 && last < most) return last + 1;
  return wrong(fs::path(options.path) / "train_labels.npy",
               fmt::format("the largest label is {}", last), "labels are 0 .. classes-1");
}

Result<Ok> check_labels(const NpySplit& split, int classes) {
  const auto& labels = split.targets.labels;
  const auto beyond =
      std::ranges::find_if(labels, [&](auto label) { return label < 0 || label >= classes; });
  if (beyond == labels.end()) return Ok{};
  return with_skip_hint(beyond_the_classes(split, beyond - labels.begin(), classes));
}

Result<std::unique_ptr<Dataset>> open_npy(const DatasetOptions& options) {
  const fs::path folder = options.path;
  const std::string hint =
      "name the folder of train_images.npy, train_labels.npy, val_images.npy and val_labels.npy in "
      "train.dataset.path";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return Error{
        ErrorKind::bad_request,
        options.path.empty() ? "dataset.path is missing" : options.path + ": no such folder", hint};
  }
  const bool channels_first = options.layout == "nchw";
  auto train = open_split(folder, "train", channels_first);
  if (!train) return std::move(train).error();
  auto validation = open_split(folder, "val", channels_first);
  if (!validation) return std::move(validation).error();
  const auto extents = [](const NpySplit& split) {
    return std::tuple(split.shape.channels, split.shape.height, split.shape.width,
                      split.images.header.kind);
  };
  if (extents(*train) != extents(*validation)) {
    return wrong(folder, "training and validation images differ in shape or type");
  }
  if (train->targets.kind != validation->targets.kind ||
      train->targets.width != validation->targets.width) {
    return wrong(folder, "training and validation labels differ in shape or kind");
  }
  auto classes = count_classes(*train, options);
  if (!classes) return std::move(classes).error();
  for (const auto* split : {&*train, &*validation}) {
    if (options.skip_bad) continue;
    if (auto checked = check_labels(*split, *classes); !checked) return std::move(checked).error();
  }
  return std::unique_ptr<Dataset>(std::make_unique<NpyDataset>(
      *std::move(train), *std::move(validation), *classes, channels_first));
}

}  // namespace

extern const DatasetEntry npy_dataset;
const DatasetEntry npy_dataset{"npy",
                               "numpy arrays in `path`: train_images.npy (bytes or float32, may "
                               "exceed memory), train_labels.npy, and the same with val_",
                               true, open_npy, "classes layout"};

}  // namespace dllaunch
