// JPEG files in one folder per class, like torchvision's ImageFolder: {train,val}/CLASS/*.jpg.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include <fmt/core.h>

#include "support/random.hpp"
#include "trainer/data/codecs/jpeg.hpp"
#include "trainer/data/codecs/random_access_file.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/transforms/bilinear.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct ImageFiles {
  fs::path folder;                 // of the split
  std::vector<std::string> names;  // "CLASS/a.jpg", ordered by class, then name
  std::vector<std::int32_t> labels;
};

bool is_jpeg_name(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension == ".jpg" || extension == ".jpeg";
}

Error unreadable(const fs::path& folder, const std::error_code& why) {
  return {ErrorKind::bad_request, folder.string() + ": " + why.message(), ""};
}

Result<std::vector<std::string>> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (name[0] != '.' && at->is_directory(ignored)) names.push_back(name);
  }
  if (failed) return unreadable(folder, failed);
  std::ranges::sort(names);
  return names;
}

/// Adds the JPEG files at any depth below a class's folder.
Result<Ok> add_class(ImageFiles& files, const std::string& name, std::int32_t label) {
  const fs::path folder = files.folder / name;
  const auto first = static_cast<std::ptrdiff_t>(files.names.size());
  std::error_code failed;
  const auto links = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, links, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (!is_jpeg_name(at->path()) || !at->is_regular_file(ignored)) continue;
    files.names.push_back(at->path().lexically_relative(files.folder).string());
  }
  if (failed) return unreadable(folder, failed);
  std::sort(files.names.begin() + first, files.names.end());
  files.labels.resize(files.names.size(), label);
  return Ok{};
}

Result<ImageFiles> list_files(const fs::path& folder, const std::vector<std::string>& classes,
                              bool skip_bad) {
  ImageFiles files{.folder = folder, .names = {}, .labels = {}};
  auto present = class_folders(folder);
  if (!present) return std::move(present).error();
  for (const auto& name : *present) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
      return Error{ErrorKind::bad_request,
                   fmt::format("{}: no class of the training images has this name",
                               (folder / name).string()),
                   ""};
    }
    const std::size_t before = files.names.size();
    auto added = add_class(files, name, static_cast<std::int32_t>(found - classes.begin()));
    if (!added) return std::move(added).error();
    if (!skip_bad && files.names.size() == before) {
      return Error{
          ErrorKind::bad_request,
          fmt::format("{}: class folder without a .jpg file", (folder / name).string()),
          "remove the folder, or put images into it; dataset.on_bad: skip continues without it"};
    }
  }
  if (files.names.empty()) {
    return Error{ErrorKind::bad_request, folder.string() + ": no CLASS/*.jpg in it", ""};
  }
  return files;
}

class ImageFolder : public Dataset {
 public:
  ImageFolder(ImageFiles train, ImageFiles validation, std::vector<std::string> class_names,
              ImageShape shape, bool resizes)
      : train_(std::move(train)),
        validation_(std::move(validation)),
        class_names_(std::move(class_names)),
        shape_(shape),
        resizes_(resizes) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::int64_t size(Split split) const override {
    return static_cast<std::int64_t>(of(split).names.size());
  }

  /// The name includes the class.
  std::uint64_t listing_key(Split split) const override {
    std::uint64_t key = 0;
    for (const auto& name : of(split).names) key = random_key(key, name);
    return key;
  }

  /// Decoding takes about a millisecond per photograph; a few hundred give two digits.
  std::int64_t images_to_measure() const override {
    constexpr std::int64_t most_pixels_measured = std::int64_t{1} << 25;
    return std::clamp<std::int64_t>(most_pixels_measured / static_cast<std::int64_t>(pixels()), 1,
                                    size(Split::train));
  }

  Result<std::int32_t> read(Split split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override;

 private:
  const ImageFiles& of(Split split) const { return split == Split::train ? train_ : validation_; }
  void resize(const JpegImage& image, std::span<std::uint8_t> pixels) const;
  void separate(const JpegImage& image, std::span<std::uint8_t> pixels) const;

  ImageFiles train_;
  ImageFiles validation_;
  std::vector<std::string> class_names_;
  ImageShape shape_;
  bool resizes_;  // otherwise all images have this shape
};

Result<JpegImage> read_jpeg(const fs::path& path, int channels, int smallest) {
  auto file = RandomAccessFile::open(path);
  if (!file) return std::move(file).error();
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
  if (file->size() > most_bytes) {
    return Error{ErrorKind::bad_request, path.string() + ": is larger than 1 GiB", ""};
  }
  std::vector<std::uint8_t> content(file->size());
  if (auto read = file->read(0, content); !read) return std::move(read).error();
  auto image = decode_jpeg(content, channels, smallest);
  if (!image) return std::move(image).error().within(path.string());
  return image;
}

/// Returns the first image, which determines the size of all. With `skip_bad`, the first good one.
Result<JpegImage> first_image(const ImageFiles& files, int channels, bool skip_bad) {
  constexpr std::size_t most_in_a_row = 100;
  const std::size_t tried = skip_bad ? std::min(files.names.size(), most_in_a_row) : 1;
  for (std::size_t i = 0;; ++i) {
    auto image = read_jpeg(files.folder / files.names[i], channels, 0);
    if (image || image.error().kind != ErrorKind::bad_request) return image;
    if (i + 1 < tried) continue;
    Error error = std::move(image).error();
    if (!skip_bad) return with_skip_hint(std::move(error));
    return Error{ErrorKind::bad_request,
                 fmt::format("none of the first {} images is good; {}", tried, error.what),
                 error.hint};
  }
}

Result<std::int32_t> ImageFolder::read(Split split, std::int64_t index,
                                       std::span<std::uint8_t> pixels) const {
  const ImageFiles& files = of(split);
  const auto at = static_cast<std::size_t>(index);
  const fs::path path = files.folder / files.names[at];
  const int smallest = resizes_ ? std::max(shape_.height, shape_.width) : 0;
  auto image = read_jpeg(path, shape_.channels, smallest);
  if (!image) return std::move(image).error();
  if (image->height == shape_.height && image->width == shape_.width) {
    separate(*image, pixels);
  } else if (resizes_) {
    resize(*image, pixels);
  } else {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: is {}x{} pixels, the first image is {}x{}", path.string(),
                             image->width, image->height, shape_.width, shape_.height),
                 "set dataset.image_size: images are resized to it"};
  }
  return files.labels[at];
}

/// [h,w,c] -> [c,h,w]
void ImageFolder::separate(const JpegImage& image, std::span<std::uint8_t> pixels) const {
  const auto channels = static_cast<std::size_t>(shape_.channels);
  const std::size_t plane = pixels.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < plane; ++p) pixels[c * plane + p] = image.pixels[p * channels + c];
  }
}

/// [h,w,c] -> [c,h,w], rounded to the nearest level.
void ImageFolder::resize(const JpegImage& image, std::span<std::uint8_t> pixels) const {
  const AxisResize rows = resize_axis(image.height, shape_.height);
  const AxisResize columns = resize_axis(image.width, shape_.width);
  const auto channels = static_cast<std::size_t>(shape_.channels);
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * channels;
  std::vector<float> row(row_bytes);
  const auto width = static_cast<std::size_t>(shape_.width);
  const std::size_t plane = pixels.size() / channels;
  constexpr float to_nearest = 0.5F;  // no level is negative
  for (std::size_t y = 0; y < rows.from.size(); ++y) {
    const std::uint8_t* upper =
        image.pixels.data() + static_cast<std::size_t>(rows.from[y]) * row_bytes;
    const std::uint8_t* lower = upper + static_cast<std::size_t>(rows.step[y]) * row_bytes;
    const float below = rows.weight[y];
    for (std::size_t i = 0; i < row_bytes; ++i) {
      row[i] = static_cast<float>(upper[i]) * (1 - below) + static_cast<float>(lower[i]) * below;
    }
    for (std::size_t x = 0; x < width; ++x) {
      const float* left = row.data() + static_cast<std::size_t>(columns.from[x]) * channels;
      const float* right = left + static_cast<std::size_t>(columns.step[x]) * channels;
      const float weight = columns.weight[x];
      for (std::size_t c = 0; c < channels; ++c) {
        const float value = left[c] * (1 - weight) + right[c] * weight;
        pixels[c * plane + y * width + x] = static_cast<std::uint8_t>(value + to_nearest);
      }
    }
  }
}

Result<std::unique_ptr<Dataset>> open_image_folder(const DatasetOptions& options) {
  const fs::path folder = options.path;
  const std::string hint =
      "name the folder of train/CLASS/*.jpg and val/CLASS/*.jpg in train.dataset.path";
  const int channels = options.channels.value_or(3);
  if (channels != 1 && channels != 3) {
    return Error{ErrorKind::bad_request,
                 fmt::format("dataset.channels: JPEG images are read in 1 or 3, not {}", channels),
                 ""};
  }
  std::error_code ignored;
  for (const auto& needed : {folder, folder / "train", folder / "val"}) {
    if (options.path.empty()) {
      return Error{ErrorKind::bad_request, "dataset.path is missing", hint};
    }
    if (!fs::is_directory(needed, ignored)) {
      return Error{ErrorKind::bad_request, needed.string() + ": no such folder", hint};
    }
  }
  auto classes = class_folders(folder / "train");
  if (!classes) return std::move(classes).error();
  auto train = list_files(folder / "train", *classes, options.skip_bad);
  if (!train) return std::move(train).error();
  auto validation = list_files(folder / "val", *classes, options.skip_bad);
  if (!validation) return std::move(validation).error();
  const int size = options.image_size.value_or(0);
  ImageShape shape{.channels = channels, .height = size, .width = size};
  if (size == 0) {
    auto first = first_image(*train, channels, options.skip_bad);
    if (!first) return std::move(first).error();
    shape.height = first->height;
    shape.width = first->width;
  }
  return std::unique_ptr<Dataset>(std::make_unique<ImageFolder>(
      *std::move(train), *std::move(validation), *std::move(classes), shape, size > 0));
}

}  // namespace

extern const DatasetEntry image_folder_dataset;
const DatasetEntry image_folder_dataset{
    "image-folder", "JPEG files in `path`: train/CLASS/*.jpg and val/CLASS/*.jpg", true,
    open_image_folder, "channels"};

}  // namespace dllaunch
