#include "trainer/data/datasets/token_files.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 1> training_words{"train"};
constexpr std::array<std::string_view, 3> validation_words{"val", "valid", "validation"};

/// Returns what stands before the last of these words in a name; nullopt: none is in it.
std::optional<std::string> before_word(std::string_view name,
                                       std::span<const std::string_view> words) {
  constexpr std::string_view between = "_-.";
  std::optional<std::string> before;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find_first_of(between, begin), name.size());
    if (std::ranges::find(words, name.substr(begin, end - begin)) != words.end()) {
      before = std::string(name.substr(0, begin));
    }
    begin = end + 1;
  }
  return before;
}

Result<std::vector<fs::path>> list_all(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  fs::directory_iterator at(folder, failed);
  for (const fs::directory_iterator end; !failed && at != end; at.increment(failed)) {
    files.push_back(at->path());
  }
  if (failed) {
    const bool missing = failed == std::errc::no_such_file_or_directory;
    return Error{missing ? ErrorKind::bad_request : ErrorKind::unavailable,
                 folder.string() + ": " + failed.message(), ""};
  }
  std::ranges::sort(files);
  return files;
}

bool fits(const fs::path& file, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), file.filename().c_str(), FNM_PERIOD) == 0;
}

std::optional<std::string> training_start(const fs::path& file) {
  return before_word(file.filename().string(), training_words);
}

std::optional<std::string> validation_start(const fs::path& file) {
  return before_word(file.filename().string(), validation_words);
}

constexpr std::string_view path_hint =
    "train.dataset.path is a folder of *_train_*.bin and *_val_*.bin, or train.bin and val.bin; a "
    "file; or a pattern such as fineweb_train_*.bin";

}  // namespace

bool is_file_pattern(const std::string& path) {
  return fs::path(path).filename().string().find_first_of("*?") != std::string::npos;
}

Result<TokenFiles> find_token_files(const std::string& path) {
  if (path.empty()) {
    return Error{ErrorKind::bad_request, "dataset.path is missing", std::string(path_hint)};
  }
  TokenFiles found;
  std::error_code unknown;
  const bool whole_folder = fs::is_directory(path, unknown);
  const fs::path folder = whole_folder                       ? fs::path(path)
                          : fs::path(path).has_parent_path() ? fs::path(path).parent_path()
                                                             : fs::path(".");
  auto files = list_all(folder);
  if (!files) return std::move(files).error();
  std::set<std::string> starts;  // of the names of training shards
  for (const fs::path& file : *files) {
    const bool trains = whole_folder ? fits(file, "*.bin") && training_start(file)
                                     : fits(file, fs::path(path).filename()) ||
                                           file.filename() == fs::path(path).filename();
    const bool asked = !whole_folder && !is_file_pattern(path);
    if (!trains || (!asked && validation_start(file))) continue;
    found.train.push_back(file);
    if (const auto start = training_start(file)) starts.insert(*start);
  }
  if (found.train.empty()) {
    return Error{ErrorKind::bad_request,
                 path + (whole_folder ? ": holds no training shard" : ": no such file"),
                 std::string(path_hint)};
  }
  for (const fs::path& file : *files) {
    const auto start = validation_start(file);
    const bool trained_on = std::ranges::find(found.train, file) != found.train.end();
    if (!start || trained_on || !fits(file, "*.bin")) continue;
    if (whole_folder || starts.contains(*start)) found.validation.push_back(file);
  }
  return found;
}

}  // namespace dllaunch
