#include "trainer/reports/csv.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "support/file_text.hpp"
#include "support/parse_number.hpp"
#include "trainer/reports/report_file.hpp"

namespace dllaunch {
namespace {

std::string csv_row(const std::vector<std::string>& fields) {
  return fmt::format("{}\n", fmt::join(fields, ","));
}

/// Returns the epoch of a complete row: as many fields as the header, the first an integer.
std::optional<std::int64_t> epoch_of(std::string_view row, std::string_view header) {
  if (std::ranges::count(row, ',') != std::ranges::count(header, ',')) return std::nullopt;
  return parse_number<std::int64_t>(row.substr(0, row.find(',')));
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_field(std::optional<double> number) {
  return number ? fmt::format("{}", *number) : "NA";
}

std::string render_confusion(const Metrics& metrics, std::span<const std::string> class_names) {
  std::vector<std::string> fields{"actual"};
  for (const auto& name : class_names) fields.push_back(csv_field(name));
  std::string text = csv_row(fields);
  for (int actual = 0; actual < metrics.classes(); ++actual) {
    fields.assign(1, csv_field(class_names[static_cast<std::size_t>(actual)]));
    for (int predicted = 0; predicted < metrics.classes(); ++predicted) {
      fields.push_back(std::to_string(metrics.confused(actual, predicted)));
    }
    text += csv_row(fields);
  }
  return text;
}

std::string render_classes(const Metrics& metrics, std::span<const std::string> class_names) {
  std::string text = "class,images,predicted,precision,recall,f1\n";
  for (int number = 0; number < metrics.classes(); ++number) {
    const ClassCounts counts = metrics.of_class(number);
    text += csv_row({csv_field(class_names[static_cast<std::size_t>(number)]),
                     std::to_string(counts.actual), std::to_string(counts.predicted),
                     csv_field(counts.precision()), csv_field(counts.recall()),
                     csv_field(counts.f1())});
  }
  return text;
}

std::optional<std::string> rows_before(std::string_view text, std::string_view header,
                                       std::int64_t epoch) {
  std::string kept = fmt::format("{}\n", header);
  if (text.empty()) return kept;
  if (!text.starts_with(kept)) return std::nullopt;
  text.remove_prefix(kept.size());
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    const auto of_row = epoch_of(text.substr(0, end), header);
    if (of_row && *of_row < epoch) kept += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return kept;
}

EpochTable::EpochTable(std::filesystem::path file, std::span<const std::string_view> columns)
    : file_(std::move(file)), header_(fmt::format("epoch,{}", fmt::join(columns, ","))) {}

Result<Ok> EpochTable::append(std::int64_t epoch, std::span<const std::optional<double>> numbers) {
  std::vector<std::string> fields{std::to_string(epoch)};
  for (const auto& number : numbers) fields.push_back(csv_field(number));
  return append(epoch, csv_row(fields));
}

Result<Ok> EpochTable::append(std::int64_t epoch, const std::string& rows) {
  if (!first_) first_ = epoch;
  std::error_code unknown;
  if (!begun_ || size_ != std::filesystem::file_size(file_, unknown)) {
    if (auto ready = make_room(begun_ ? epoch : *first_); !ready) return ready;
  }
  begun_ = true;
  auto written = append_to_file(file_, rows);
  size_ = std::filesystem::file_size(file_, unknown);
  if (unknown) size_.reset();
  return written;
}

Result<Ok> EpochTable::make_room(std::int64_t epoch) const {
  constexpr std::size_t most_bytes = 256 << 20;
  const auto text = read_file_text(file_.string(), FileLinks::followed, most_bytes);
  std::error_code unknown;
  const bool is_file = std::filesystem::is_regular_file(file_, unknown);
  const auto kept =
      text || !is_file ? rows_before(text ? *text : "", header_, epoch) : std::nullopt;
  if (!kept) {
    if (auto aside = set_file_aside(file_); !aside) return aside;
    return replace_file(file_, header_ + "\n");
  }
  return text && *kept == *text ? Result<Ok>(Ok{}) : replace_file(file_, *kept);
}

}  // namespace dllaunch
