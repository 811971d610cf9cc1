#include "launcher/failures/outages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "launcher/base/moment.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/trimmed.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr double day_s = 86400;
constexpr int most_nodes = 10'000'000;
constexpr double most_days = 1e6;
constexpr std::size_t most_rows = 100'000;  // 10,000 nodes for 8 years; half a second

/// The fields of a line of CSV; quotes keep commas together, and "" is a quote.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool twice = quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (twice) {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (auto& field : fields) field = std::string(trimmed(field));
  return fields;
}

std::optional<double> number_in(std::string_view text) {
  const auto number = parse_number<double>(text);  // which reads "inf" and "nan", too
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// "2026-11-24"; not an age such as "10m" or a time of today, which moment_in() reads too.
bool looks_like_date(std::string_view text) {
  constexpr std::size_t year = 4;
  return text.size() > year && (text[year] == '-' || text[year] == '/') &&
         std::all_of(text.begin(), text.begin() + year,
                     [](char c) { return c >= '0' && c <= '9'; });
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<NodeOutages> read(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
    for (const auto line : split_lines(text)) {
      ++line_;
      if (auto taken = take(trimmed(line)); !taken) return std::move(taken).error();
    }
    if (!has_header_) return problem("no line 'node,failed,repaired'");
    return complete();
  }

 private:
  Error problem(const std::string& what) const {
    return {ErrorKind::bad_request, fmt::format("{}:{}: {}", file_, std::max(line_, 1), what),
            "docs/how-to/forecast.md describes the file"};
  }

  Result<Ok> take(std::string_view line) {
    if (line.empty()) return Ok{};
    if (line.front() == '#') return take_comment(trimmed(line.substr(1)));
    const auto fields = fields_of(line);
    return has_header_ ? take_row(fields) : take_header(fields);
  }

  Result<Ok> take_comment(std::string_view comment) {
    const auto colon = comment.find(':');
    const auto key = trimmed(comment.substr(0, colon));
    if (colon == std::string_view::npos) return Ok{};
    const auto value = trimmed(comment.substr(colon + 1));
    if (key == "nodes") {
      const auto count = number_in(value);
      if (!count || *count < 1 || *count > most_nodes || *count != std::floor(*count))
        return problem(fmt::format("'{}' is not a number of nodes", shown_line(value)));
      nodes_ = static_cast<int>(*count);
      return Ok{};
    }
    if (key != "from" && key != "until") return Ok{};
    auto moment = moment_of(value);
    if (!moment) return std::move(moment).error();
    (key == "from" ? from_ : until_) = *moment;
    return Ok{};
  }

  Result<Ok> take_header(const std::vector<std::string>& fields) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto found = std::ranges::find(fields, columns[i]);
      if (found == fields.end())
        return problem(fmt::format(
            "no column '{}' in the first line, which names them between commas", columns[i]));
      places_[i] = static_cast<std::size_t>(found - fields.begin());
    }
    has_header_ = true;
    return Ok{};
  }

  Result<Ok> take_row(const std::vector<std::string>& fields) {
    const auto field = [&](std::size_t column) -> std::string_view {
      const auto place = places_[column];
      return place < fields.size() ? std::string_view(fields[place]) : std::string_view();
    };
    if (field(0).empty()) return problem("no name of a node");
    if (rows_.size() == most_rows)
      return problem(fmt::format("more than {} outages: give the newest ones", most_rows));
    auto failed = moment_of(field(1));
    if (!failed) return std::move(failed).error();
    Row row{.node = std::string(field(0)), .failed_s = *failed};
    if (!field(2).empty()) {
      auto repaired = moment_of(field(2));
      if (!repaired) return std::move(repaired).error();
      if (*repaired < *failed) return problem("it was repaired before it failed");
      row.repaired_s = *repaired;
    }
    rows_.push_back(std::move(row));
    return Ok{};
  }

  Result<double> moment_of(std::string_view text) {
    const auto days = number_in(text);
    const auto date = days || !looks_like_date(text) ? std::nullopt : moment_in(text, 0);
    if (!days && !date)
      return problem(
          fmt::format("'{}' is neither a date such as 2026-11-23 08:30 nor a number of "
                      "days",
                      shown_line(text)));
    if (days && std::abs(*days) > most_days)
      return problem(fmt::format("'{}' is more than a million days", shown_line(text)));
    if (days && *days < 0)
      return problem(fmt::format("'{}' is negative: days count from a first one, which is 0",
                                 shown_line(text)));
    if (in_days_ && *in_days_ != days.has_value())
      return problem("times are dates in one line and numbers of days in another");
    in_days_ = days.has_value();
    return days ? *days * day_s : *date;
  }

  Result<NodeOutages> complete() const {
    NodeOutages outages{.nodes_given = nodes_.has_value()};
    std::set<std::string> names;
    double first = 0;
    double last = 0;
    for (const auto& row : rows_) {
      const bool only = names.empty();
      const double end = std::max(row.failed_s, row.repaired_s.value_or(row.failed_s));
      first = only ? row.failed_s : std::min(first, row.failed_s);
      last = only ? end : std::max(last, end);
      names.insert(row.node);
    }
    const int seen = static_cast<int>(names.size());
    if (nodes_ && *nodes_ < seen)
      return problem(fmt::format("'# nodes: {}', but {} appear", *nodes_, seen));
    outages.nodes = nodes_.value_or(seen);
    outages.from_s = from_.value_or(first);
    outages.until_s = until_.value_or(last);
    if (!rows_.empty() && outages.until_s <= outages.from_s)
      return problem("the nodes were watched for no time: '# until:' is not after '# from:'");
    outages.all = merged(outages);
    return outages;
  }

  std::vector<NodeOutage> merged(const NodeOutages& period) const {
    std::vector<NodeOutage> all;
    for (const auto& row : rows_) {
      const bool before = row.failed_s < period.from_s;
      const double begin = std::max(row.failed_s, period.from_s);
      const double end = std::min(row.repaired_s.value_or(period.until_s), period.until_s);
      if (begin >= period.until_s || (before && end <= begin)) continue;
      all.push_back({.node = row.node,
                     .failed_s = begin,
                     .repaired_s = std::max(begin, end),
                     .began_before = before});
    }
    std::ranges::sort(all, [](const NodeOutage& a, const NodeOutage& b) {
      return std::tie(a.node, a.failed_s, a.repaired_s) <
             std::tie(b.node, b.failed_s, b.repaired_s);
    });
    std::vector<NodeOutage> apart;
    for (auto& outage : all) {
      const bool within = !apart.empty() && apart.back().node == outage.node &&
                          outage.failed_s <= apart.back().repaired_s;
      if (!within) {
        apart.push_back(std::move(outage));
        continue;
      }
      apart.back().repaired_s = std::max(apart.back().repaired_s, outage.repaired_s);
      apart.back().began_before |= outage.began_before;
    }
    return apart;
  }

  struct Row {
    std::string node = {};
    double failed_s = 0;
    std::optional<double> repaired_s = {};
  };
  static constexpr std::array<std::string_view, 3> columns = {"node", "failed", "repaired"};

  const std::string& file_;
  int line_ = 0;
  bool has_header_ = false;
  std::array<std::size_t, 3> places_ = {};
  std::optional<bool> in_days_;
  std::optional<int> nodes_;
  std::optional<double> from_;
  std::optional<double> until_;
  std::vector<Row> rows_;
};

}  // namespace

int failures_in(const NodeOutages& outages) {
  return static_cast<int>(
      std::ranges::count(outages.all, /*value=*/false, &NodeOutage::began_before));
}

Result<NodeOutages> parse_outages(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

}  // namespace dllaunch
