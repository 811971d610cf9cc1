#include "trainer/data/datasets/idx_dataset.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "support/random.hpp"
#include "trainer/data/codecs/random_access_file.hpp"
#include "trainer/data/datasets/idx.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct LabelledImages {
  IdxArray images;  // [count, height, width]
  IdxArray labels;  // [count]
  fs::path label_file;
};

Error beyond_the_classes(const LabelledImages& split, std::size_t index, std::size_t classes) {
  return {ErrorKind::bad_request,
          fmt::format("{}: label {} of image {} is out of range 0..{}", split.label_file.string(),
                      split.labels.values[index], index, classes - 1),
          ""};
}

class IdxDataset : public Dataset {
 public:
  IdxDataset(LabelledImages train, LabelledImages validation, std::vector<std::string> class_names)
      : train_(std::move(train)),
        validation_(std::move(validation)),
        class_names_(std::move(class_names)),
        shape_{.channels = 1,
               .height = static_cast<int>(train_.images.extents[1]),
               .width = static_cast<int>(train_.images.extents[2])} {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::int64_t size(Split split) const override { return of(split).labels.extents[0]; }

  std::uint64_t listing_key(Split split) const override {
    const auto& labels = of(split).labels.values;
    return random_key(0, {reinterpret_cast<const char*>(labels.data()), labels.size()});
  }

  Result<std::int32_t> read(Split split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    const LabelledImages& from = of(split);
    const auto label = from.labels.values[static_cast<std::size_t>(index)];
    if (label >= class_names_.size()) {
      return beyond_the_classes(from, static_cast<std::size_t>(index), class_names_.size());
    }
    const auto first =
        from.images.values.begin() + index * static_cast<std::int64_t>(pixels.size());
    std::copy_n(first, pixels.size(), pixels.begin());
    return static_cast<std::int32_t>(label);
  }

 private:
  const LabelledImages& of(Split split) const {
    return split == Split::train ? train_ : validation_;
  }

  LabelledImages train_;
  LabelledImages validation_;
  std::vector<std::string> class_names_;
  ImageShape shape_;
};

/// Returns NAME or NAME.gz, whichever exists; NAME if neither does.
fs::path find_file(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  const fs::path packed = folder / (name + ".gz");
  const fs::path plain = folder / name;
  return !fs::exists(plain, ignored) && fs::exists(packed, ignored) ? packed : plain;
}

Result<IdxArray> read_array(const fs::path& path, int dimensions) {
  auto file = RandomAccessFile::open(path);
  if (!file) return std::move(file).error();
  std::vector<std::uint8_t> content(std::min(file->size(), most_idx_header_bytes));
  if (auto read = file->read(0, content); !read) return std::move(read).error();
  content.resize(std::min(file->size(), idx_bytes_to_read(content)));
  if (auto read = file->read(0, content); !read) return std::move(read).error();
  auto array = read_idx(content, dimensions);
  if (!array) return std::move(array).error().within(path.string());
  return array;
}

Result<LabelledImages> read_split(const fs::path& folder, const std::string& split,
                                  std::size_t classes, bool skip_bad) {
  const fs::path image_file = find_file(folder, split + "-images-idx3-ubyte");
  const fs::path label_file = find_file(folder, split + "-labels-idx1-ubyte");
  auto images = read_array(image_file, 3);
  if (!images) return std::move(images).error();
  auto labels = read_array(label_file, 1);
  if (!labels) return std::move(labels).error();
  if (images->values.empty()) {
    return Error{ErrorKind::bad_request, image_file.string() + ": holds no images", ""};
  }
  if (images->extents[0] != labels->extents[0]) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{} has {} images, {} has {} labels", image_file.string(),
                             images->extents[0], label_file.string(), labels->extents[0]),
                 "the two files belong to different sets"};
  }
  LabelledImages whole{*std::move(images), *std::move(labels), label_file};
  const auto& values = whole.labels.values;
  const auto beyond =
      std::ranges::find_if(values, [&](std::uint8_t label) { return label >= classes; });
  if (!skip_bad && beyond != values.end()) {
    return with_skip_hint(
        beyond_the_classes(whole, static_cast<std::size_t>(beyond - values.begin()), classes));
  }
  return whole;
}

/// Names all missing files at once: a partial copy of the folder is the usual mistake.
Result<Ok> check_presence(const fs::path& folder, const std::string& hint) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return Error{ErrorKind::bad_request, folder.string() + ": no such folder", hint};
  }
  std::vector<std::string> missing;
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    if (!fs::exists(find_file(folder, name), ignored)) missing.emplace_back(name);
  }
  if (missing.empty()) return Ok{};
  const bool only_training =
      missing.size() == 2 && missing[0].rfind("train", 0) == 0 && missing[1].rfind("train", 0) == 0;
  const std::string why =
      only_training ? "has the test split (t10k) but not the training split; missing" : "lacks";
  return Error{ErrorKind::bad_request,
               fmt::format("{}: {} {} (with or without .gz)", folder.string(), why,
                           fmt::join(missing, ", ")),
               hint};
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_idx_dataset(const IdxFamily& family,
                                                  const DatasetOptions& options) {
  const fs::path folder = options.path.empty() ? family.default_path : options.path;
  if (auto present = check_presence(folder, family.hint); !present) {
    return std::move(present).error();
  }
  auto train = read_split(folder, "train", family.class_names.size(), options.skip_bad);
  if (!train) return std::move(train).error();
  auto validation = read_split(folder, "t10k", family.class_names.size(), options.skip_bad);
  if (!validation) return std::move(validation).error();
  const auto& a = train->images.extents;
  const auto& b = validation->images.extents;
  if (a[1] != b[1] || a[2] != b[2]) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: training images are {}x{}, test images {}x{}", folder.string(),
                             a[1], a[2], b[1], b[2]),
                 ""};
  }
  return std::unique_ptr<Dataset>(
      std::make_unique<IdxDataset>(*std::move(train), *std::move(validation), family.class_names));
}

}  // namespace dllaunch
