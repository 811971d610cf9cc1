#include "trainer/commands/make_data.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string npy_beginning(const std::string& shape, const char* type) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  constexpr std::size_t before = 10;  // magic, version and header length
  header.resize((before + header.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  header += '\n';
  std::string beginning = "\x93NUMPY\x01";
  beginning += '\0';
  beginning += static_cast<char>(header.size() & 0xff);
  beginning += static_cast<char>(header.size() >> 8);
  return beginning + header;
}

/// A file with a temporary name until publish() renames it.
class NewFile {
 public:
  explicit NewFile(fs::path path)
      : path_(std::move(path)),
        partial_(path_.parent_path() / ("." + path_.filename().string() + ".partial")),
        file_(std::fopen(partial_.c_str(), "wbe")) {
    if (!file_) why_ = errno;
  }
  ~NewFile() {
    std::error_code ignored;
    fs::remove(partial_, ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* bytes, std::size_t count) {
    if (why_ == 0 && std::fwrite(bytes, 1, count, file_.get()) != count) why_ = errno;
  }
  bool failed() const { return why_ != 0; }

  /// Flushes the file to disk.
  Result<Ok> finish() {
    if (why_ == 0 && std::fflush(file_.get()) != 0) why_ = errno;
    if (why_ == 0 && ::fsync(::fileno(file_.get())) != 0) why_ = errno;
    if (why_ == 0 && std::fclose(file_.release()) != 0) why_ = errno;
    if (why_ == 0) return Ok{};
    return cannot_write(std::strerror(why_));
  }

  Result<Ok> publish() {
    std::error_code failed;
    fs::rename(partial_, path_, failed);
    if (!failed) return Ok{};
    return cannot_write(failed.message());
  }

 private:
  Error cannot_write(const std::string& why) const {
    return {ErrorKind::unavailable, fmt::format("cannot write {}: {}", path_.string(), why), ""};
  }

  fs::path path_;
  fs::path partial_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  int why_ = 0;
};

struct NewSplit {
  NewSplit(const fs::path& folder, const std::string& name)
      : images(folder / (name + "_images.npy")), labels(folder / (name + "_labels.npy")) {}
  NewFile images;
  NewFile labels;
};

/// [c,h,w] -> [h,w,c]
void interleave(std::span<const std::uint8_t> planes, std::size_t channels,
                std::span<std::uint8_t> out) {
  const std::size_t plane = planes.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < plane; ++p) out[p * channels + c] = planes[c * plane + p];
  }
}

Result<Ok> make_split(const Dataset& dataset, Split split, NewSplit& files, const Say& say) {
  const std::string name = split == Split::train ? "training" : "validation";
  const ImageShape& shape = dataset.image_shape();
  const std::int64_t images = dataset.size(split);
  const std::string image_head = npy_beginning(
      fmt::format("{}, {}, {}, {}", images, shape.height, shape.width, shape.channels), "|u1");
  files.images.write(image_head.data(), image_head.size());
  const std::string label_head = npy_beginning(fmt::format("{},", images), "<i4");
  files.labels.write(label_head.data(), label_head.size());
  std::vector<std::uint8_t> planes(dataset.pixels());
  std::vector<std::uint8_t> pixels(dataset.pixels());
  auto told = Clock::now();
  for (std::int64_t i = 0; i < images && !files.images.failed() && !files.labels.failed(); ++i) {
    auto label = dataset.read(split, i, planes);
    if (!label) return std::move(label).error();
    interleave(planes, static_cast<std::size_t>(shape.channels), pixels);
    files.images.write(pixels.data(), pixels.size());
    files.labels.write(&*label, sizeof(std::int32_t));
    if (Clock::now() - told < std::chrono::seconds(5)) continue;
    told = Clock::now();
    say(fmt::format("{}: {} of {} images, {:.1f} GB", name, i + 1, images,
                    static_cast<double>(i + 1) * static_cast<double>(pixels.size()) / 1e9));
  }
  if (auto whole = files.labels.finish(); !whole) return whole;
  return files.images.finish();
}

}  // namespace

Result<MakeData> parse_make_data(const std::vector<std::string>& words) {
  constexpr std::array names{"FOLDER", "IMAGES", "SIZE", "CLASSES", "CHANNELS"};
  const bool quiet = words.size() == names.size() + 1 && words.back() == "quiet";
  if (words.size() != names.size() + (quiet ? 1 : 0) || words[0].empty()) {
    return Error{ErrorKind::bad_request, "expected FOLDER IMAGES SIZE CLASSES CHANNELS [quiet]",
                 ""};
  }
  std::array<std::int64_t, names.size()> numbers{};
  for (std::size_t i = 1; i < names.size(); ++i) {
    numbers[i] = parse_number<std::int64_t>(words[i]).value_or(0);
    const std::int64_t most = i == 1 ? std::int64_t{1} << 50 : std::int64_t{1} << 20;
    if (numbers[i] < 1 || numbers[i] > most) {
      return Error{
          ErrorKind::bad_request,
          fmt::format("{} must be a number from 1 to {}, not {}", names[i], most, words[i]), ""};
    }
  }
  MakeData what{.folder = words[0], .options = {}, .quiet = quiet};
  what.options.images = numbers[1];
  what.options.image_size = static_cast<int>(numbers[2]);
  what.options.classes = static_cast<int>(numbers[3]);
  what.options.channels = static_cast<int>(numbers[4]);
  return what;
}

Result<std::string> make_data(const MakeData& what, const Say& say) {
  std::error_code failed;
  fs::create_directories(what.folder, failed);
  if (failed) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot make {}: {}", what.folder.string(), failed.message()), ""};
  }
  for (const char* name : {"train_images.npy", "val_images.npy"}) {
    if (!fs::exists(what.folder / name, failed)) continue;
    return Error{ErrorKind::bad_request, (what.folder / name).string() + " exists already",
                 "name another folder"};
  }
  auto dataset = find_dataset("synthetic")->open(what.options);
  if (!dataset) return std::move(dataset).error();
  NewSplit train(what.folder, "train");
  NewSplit validation(what.folder, "val");
  auto made = make_split(**dataset, Split::train, train, say);
  if (made) made = make_split(**dataset, Split::validation, validation, say);
  // Images last: their presence marks a complete data set.
  for (auto* file : {&train.labels, &validation.labels, &validation.images, &train.images}) {
    if (made) made = file->publish();
  }
  if (!made) return std::move(made).error();
  return fmt::format("dataset: {{kind: npy, path: {}, classes: {}}}", what.folder.string(),
                     (*dataset)->classes());
}

}  // namespace dllaunch
