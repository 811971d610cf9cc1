#include "runtime/rank/measured.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include "support/parse_number.hpp"
#include "support/regular_file.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_lines = 1000;
constexpr std::size_t longest_line = 4096;

std::string as_word(std::string_view key) {
  std::string word(key.substr(0, longest_line / 4));
  for (char& c : word) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') c = '_';
  }
  return word;
}

std::string beginning_of(const fs::path& file) {
  const int opened = open_regular_file(file.string());
  if (opened < 0) return "";
  struct stat info {};
  constexpr off_t most_bytes = most_lines * (longest_line + 1);
  const off_t size = fstat(opened, &info) == 0 ? std::min(info.st_size, most_bytes) : 0;
  auto text = bytes_at(opened, 0, static_cast<std::uint64_t>(size));
  close(opened);
  return text;
}

/// Parses "KEY 1 2 3 ."; nullopt if a value is not a number or the line is truncated.
std::optional<Measurement> measurement_of(std::string_view line) {
  if (line.size() > longest_line || !line.ends_with(" .")) return std::nullopt;
  line.remove_suffix(2);
  std::size_t begin = line.find(' ');
  Measurement measured{.key = std::string(line.substr(0, begin)), .values = {}};
  if (measured.key.empty() || measured.key != as_word(measured.key)) return std::nullopt;
  while (begin != std::string_view::npos) {
    const std::size_t end = line.find(' ', begin + 1);
    const auto value = parse_number<std::int64_t>(line.substr(begin + 1, end - begin - 1));
    if (!value) return std::nullopt;
    measured.values.push_back(*value);
    begin = end;
  }
  return measured;
}

Error refused(const fs::path& file, const std::error_code& why) {
  return Error{ErrorKind::unavailable,
               fmt::format("cannot write {}: {}", file.string(), why.message()), ""};
}

}  // namespace

std::optional<fs::path> measured_file(const EnvLookup& lookup, std::string_view name) {
  const auto cache = lookup("XDG_CACHE_HOME");
  if (cache && cache->starts_with('/')) return fs::path(*cache) / "dllaunch" / "measured" / name;
  const auto home = lookup("HOME");
  if (!home || !home->starts_with('/')) return std::nullopt;
  return fs::path(*home) / ".cache" / "dllaunch" / "measured" / name;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    const bool names_it = line.starts_with("model name") || line.starts_with("cpu\t");
    if (names_it && colon != std::string::npos) return as_word(line.substr(colon + 2));
  }
  return "unknown";
}

std::string text_of_measurements(std::span<const Measurement> all) {
  std::string text;
  for (const Measurement& measured : all) {
    text += as_word(measured.key) + " ";
    for (const std::int64_t value : measured.values) text += fmt::format("{} ", value);
    text += ".\n";
  }
  return text;
}

std::vector<Measurement> measurements_of(std::string_view text) {
  std::vector<Measurement> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto measured = measurement_of(text.substr(0, end))) all.push_back(*std::move(measured));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::vector<Measurement> recall_all(const fs::path& file) {
  return measurements_of(beginning_of(file));
}

std::optional<std::vector<std::int64_t>> recall(const fs::path& file, std::string_view key) {
  const std::string word = as_word(key);
  for (Measurement& measured : recall_all(file)) {
    if (measured.key == word) return std::move(measured.values);
  }
  return std::nullopt;
}

Result<Ok> keep_all(const fs::path& file, std::span<const Measurement> newest) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) return refused(file, failed);
  // Newest first, so the oldest are dropped at the limit.
  std::vector<Measurement> all;
  std::set<std::string> keys;
  for (const Measurement& measured : newest) {
    if (keys.insert(as_word(measured.key)).second) all.push_back(measured);
  }
  for (Measurement& old : recall_all(file)) {
    if (keys.insert(old.key).second) all.push_back(std::move(old));
  }
  all.resize(std::min(all.size(), most_lines));
  const fs::path temporary = temporary_beside(file);
  std::ofstream out(temporary, std::ios::trunc);
  out << text_of_measurements(all);
  out.close();
  if (!out) {
    fs::remove(temporary, failed);
    return refused(file, std::make_error_code(std::errc::io_error));
  }
  fs::rename(temporary, file, failed);
  if (!failed) return Ok{};
  std::error_code ignored;
  fs::remove(temporary, ignored);
  return refused(file, failed);
  return Ok{};
}

Result<Ok> keep(const fs::path& file, std::string_view key, std::span<const std::int64_t> values) {
  const Measurement one{.key = std::string(key), .values = {values.begin(), values.end()}};
  return keep_all(file, {&one, 1});
}

}  // namespace dllaunch
