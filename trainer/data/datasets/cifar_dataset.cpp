#include "trainer/data/datasets/cifar_dataset.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "support/random.hpp"
#include "trainer/data/codecs/random_access_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t image_bytes = std::size_t{3} * 32 * 32;

/// A split: a sequence of record files.
class CifarSplit {
 public:
  CifarSplit(const CifarFamily& family, bool skip_bad) : family_(family), skip_bad_(skip_bad) {}

  Result<Ok> add(const fs::path& path);
  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  std::uint64_t listing_key() const {
    return random_key(0, {reinterpret_cast<const char*>(labels_.data()), labels_.size()});
  }
  Result<std::int32_t> read(std::int64_t index, std::span<std::uint8_t> pixels) const;

 private:
  struct Part {
    RandomAccessFile file;
    std::int64_t first;  // index of its first image in the split
  };

  std::size_t record_bytes() const { return family_.label_bytes + image_bytes; }
  Result<Ok> add_labels(const RandomAccessFile& file);
  Error beyond_the_classes(const fs::path& path, std::size_t record, std::uint8_t label) const;

  const CifarFamily& family_;
  bool skip_bad_;
  std::vector<Part> parts_;
  std::vector<std::uint8_t> labels_;
};

Result<Ok> CifarSplit::add(const fs::path& path) {
  auto file = RandomAccessFile::open(path);
  if (!file) return std::move(file).error();
  if (file->size() == 0 || file->size() % record_bytes() != 0) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: {} bytes are not a whole number of {} records of {} bytes",
                             path.string(), file->size(), family_.name, record_bytes()),
                 "the file is cut off, or of another data set"};
  }
  const std::int64_t first = size();
  if (auto added = add_labels(*file); !added) return std::move(added).error();
  parts_.push_back({*std::move(file), first});
  return Ok{};
}

Result<Ok> CifarSplit::add_labels(const RandomAccessFile& file) {
  constexpr std::uint64_t records_at_once = 4096;  // 12 MB
  const std::uint64_t records = file.size() / record_bytes();
  std::vector<std::uint8_t> piece(std::min(records, records_at_once) * record_bytes());
  for (std::uint64_t done = 0; done < records;) {
    const std::uint64_t count = std::min(records_at_once, records - done);
    const auto bytes = std::span(piece).first(count * record_bytes());
    if (auto read = file.read(done * record_bytes(), bytes); !read) return std::move(read).error();
    for (std::uint64_t i = 0; i < count; ++i, ++done) {
      const std::uint8_t label = piece[i * record_bytes() + family_.label_at];
      if (!skip_bad_ && label >= family_.class_names.size()) {
        return with_skip_hint(beyond_the_classes(file.path(), done, label));
      }
      labels_.push_back(label);
    }
  }
  return Ok{};
}

Error CifarSplit::beyond_the_classes(const fs::path& path, std::size_t record,
                                     std::uint8_t label) const {
  return {ErrorKind::bad_request,
          fmt::format("{}: label {} of image {} is out of range 0..{}", path.string(), label,
                      record, family_.class_names.size() - 1),
          ""};
}

Result<std::int32_t> CifarSplit::read(std::int64_t index, std::span<std::uint8_t> pixels) const {
  const auto next = std::find_if(parts_.begin() + 1, parts_.end(),
                                 [&](const Part& part) { return part.first > index; });
  const Part& part = *(next - 1);
  const auto record = static_cast<std::uint64_t>(index - part.first);
  const std::uint8_t label = labels_[static_cast<std::size_t>(index)];
  if (label >= family_.class_names.size()) {
    return beyond_the_classes(part.file.path(), record, label);
  }
  auto read = part.file.read(record * record_bytes() + family_.label_bytes, pixels);
  if (!read) return std::move(read).error();
  return static_cast<std::int32_t>(label);
}

class CifarDataset : public Dataset {
 public:
  CifarDataset(const CifarFamily& family, CifarSplit train, CifarSplit validation)
      : family_(family), train_(std::move(train)), validation_(std::move(validation)) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return family_.class_names; }
  std::int64_t size(Split split) const override { return of(split).size(); }
  std::uint64_t listing_key(Split split) const override { return of(split).listing_key(); }

  /// All images of the published sets; of a larger one, enough for three digits.
  std::int64_t images_to_measure() const override {
    constexpr std::int64_t most_pixels = std::int64_t{1} << 28;
    return std::min(most_pixels / static_cast<std::int64_t>(pixels()), size(Split::train));
  }

  Result<std::int32_t> read(Split split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    return of(split).read(index, pixels);
  }

 private:
  const CifarSplit& of(Split split) const { return split == Split::train ? train_ : validation_; }

  const CifarFamily& family_;
  CifarSplit train_;
  CifarSplit validation_;
  ImageShape shape_{.channels = 3, .height = 32, .width = 32};
};

/// Returns the files in `folder` that match "PREFIX*SUFFIX" or the plain name `form`, ordered by
/// length, then name: 2 comes before 10.
std::vector<fs::path> matching_files(const fs::path& folder, const std::string& form) {
  const auto star = form.find('*');
  const std::string prefix = form.substr(0, star);
  const std::string suffix = star == std::string::npos ? "" : form.substr(star + 1);
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool fits = star == std::string::npos
                          ? name == form
                          : name.size() > prefix.size() + suffix.size() &&
                                name.starts_with(prefix) && name.ends_with(suffix);
    if (fits) found.push_back(entry.path());
  }
  std::ranges::sort(found, [](const fs::path& a, const fs::path& b) {
    const auto key = [](const fs::path& path) {
      return std::pair(path.native().size(), path.native());
    };
    return key(a) < key(b);
  });
  return found;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_cifar_dataset(const CifarFamily& family,
                                                    const DatasetOptions& options) {
  const std::string hint = fmt::format(
      "name the folder with {} and {} in train.dataset.path; `dllaunch data get {}` fetches them",
      family.train_files, family.validation_file, family.name);
  if (options.path.empty()) {
    return Error{ErrorKind::bad_request, "dataset.path is missing: the folder of " + family.name,
                 hint};
  }
  fs::path folder = options.path;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return Error{ErrorKind::bad_request, folder.string() + ": no such folder", hint};
  }
  auto train_files = matching_files(folder, family.train_files);
  if (train_files.empty() && fs::is_directory(folder / family.folder, ignored)) {
    folder /= family.folder;
    train_files = matching_files(folder, family.train_files);
  }
  if (train_files.empty()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: lacks {}", folder.string(), family.train_files), hint};
  }
  CifarSplit train(family, options.skip_bad);
  for (const auto& file : train_files) {
    if (auto added = train.add(file); !added) return std::move(added).error();
  }
  CifarSplit validation(family, options.skip_bad);
  if (auto added = validation.add(folder / family.validation_file); !added) {
    return std::move(added).error();
  }
  return std::unique_ptr<Dataset>(
      std::make_unique<CifarDataset>(family, std::move(train), std::move(validation)));
}

}  // namespace dllaunch
