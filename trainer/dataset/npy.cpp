// Arrays that numpy.save wrote: images, bytes or floats, and a label for each.
//
// train_images.npy [n,h,w] or [n,h,w,c] (`layout: nchw`: [n,c,h,w]), train_labels.npy [n], and the
// same with val_. Images stay in the file.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/dataset/dataset.hpp"
#include "trainer/dataset/npy_header.hpp"
#include "trainer/random.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct NpySplit {
  NpyFile images;
  fs::path label_file;
  std::vector<std::int32_t> labels;
  ImageShape shape;
};

Error wrong(const fs::path& file, const std::string& what, std::string hint = "") {
  return {ErrorKind::bad_request, file.string() + ": " + what, std::move(hint)};
}

/// The shape of one image of an array of them.
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

/// A little-endian integer of 1, 2, 4 or 8 bytes. What 32 bits cannot hold becomes the nearest that
/// they can, which is no label of any set.
std::int32_t integer_at(std::span<const std::uint8_t> bytes, bool is_signed) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  const bool negative = is_signed && (bytes.back() & 0x80) != 0;
  if (negative && bytes.size() < 8) value |= ~std::uint64_t{0} << (8 * bytes.size());
  using Limits = std::numeric_limits<std::int32_t>;
  if (!negative) {
    return static_cast<std::int32_t>(std::min(value, static_cast<std::uint64_t>(Limits::max())));
  }
  return static_cast<std::int32_t>(
      std::max(static_cast<std::int64_t>(value), std::int64_t{Limits::min()}));
}

Result<std::vector<std::int32_t>> read_labels(const fs::path& path, std::uint64_t images) {
  auto opened = open_npy(path);
  if (!opened) return std::move(opened).error();
  const NpyHeader& header = opened->header;
  if (header.kind == 'f') return wrong(path, "labels are floats", "save .astype('int64')");
  if (header.shape.size() != 1 || header.shape[0] != images) {
    return wrong(path, fmt::format("labels have shape ({}), there are {} images",
                                   fmt::join(header.shape, ", "), images));
  }
  constexpr std::uint64_t labels_at_once = 65536;
  std::vector<std::uint8_t> piece(labels_at_once * header.item_bytes);
  std::vector<std::int32_t> labels;
  labels.reserve(images);
  for (std::uint64_t done = 0; done < images;) {
    const std::uint64_t count = std::min(labels_at_once, images - done);
    const auto bytes = std::span(piece).first(count * header.item_bytes);
    auto read = opened->file.read(header.data_begin + done * header.item_bytes, bytes);
    if (!read) return std::move(read).error();
    for (std::uint64_t i = 0; i < count; ++i) {
      labels.push_back(
          integer_at(bytes.subspan(i * header.item_bytes, header.item_bytes), header.kind == 'i'));
    }
    done += count;
  }
  return labels;
}

Result<NpySplit> open_split(const fs::path& folder, const std::string& name, bool channels_first) {
  auto images = open_npy(folder / (name + "_images.npy"));
  if (!images) return std::move(images).error();
  auto shape = shape_of(*images, channels_first);
  if (!shape) return std::move(shape).error();
  const fs::path label_file = folder / (name + "_labels.npy");
  auto labels = read_labels(label_file, images->header.shape[0]);
  if (!labels) return std::move(labels).error();
  return NpySplit{*std::move(images), label_file, *std::move(labels), *shape};
}

Error beyond_the_classes(const NpySplit& split, std::int64_t index, int classes) {
  return with_skip_hint(
      wrong(split.label_file,
            fmt::format("label {} of image {} is out of range 0..{}",
                        split.labels[static_cast<std::size_t>(index)], index, classes - 1)));
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
    return static_cast<std::int64_t>(of(split).labels.size());
  }

  std::uint64_t listing_key(Split split) const override {
    const auto& labels = of(split).labels;
    return random_key(
        0, {reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof(labels[0])});
  }

  /// Of a set larger than memory, a part that gives three digits.
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
    if (label && !std::all_of(pixels.begin(), pixels.end(),
                              [](float pixel) { return std::isfinite(pixel); })) {
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
    const std::int32_t label = from.labels[static_cast<std::size_t>(index)];
    if (label < 0 || label >= classes()) return beyond_the_classes(from, index, classes());
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

/// As many as the largest training label asks for, or as the user says.
Result<int> count_classes(const NpySplit& train, const DatasetOptions& options) {
  if (options.classes) return *options.classes;
  constexpr std::int32_t most = 1 << 20;
  const std::int32_t last = *std::max_element(train.labels.begin(), train.labels.end());
  if (last >= 0 && last < most) return last + 1;
  return wrong(fs::path(options.path) / "train_labels.npy",
               fmt::format("the largest label is {}", last), "labels are 0 .. classes-1");
}

Result<Ok> check_labels(const NpySplit& split, int classes) {
  const auto beyond = std::find_if(split.labels.begin(), split.labels.end(),
                                   [&](auto label) { return label < 0 || label >= classes; });
  if (beyond == split.labels.end()) return Ok{};
  return beyond_the_classes(split, beyond - split.labels.begin(), classes);
}

Result<std::unique_ptr<Dataset>> open(const DatasetOptions& options) {
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
const DatasetEntry npy_dataset{
    "npy",
    "numpy arrays in `path`: train_images.npy (bytes or float32, larger than memory if need be), "
    "train_labels.npy, and the same with val_",
    true, open, "classes layout"};

}  // namespace dllaunch
