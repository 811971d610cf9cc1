#include "launcher/doctor/gpu_rows.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/core.h>

#include "launcher/base/table.hpp"
#include "launcher/base/utf8.hpp"
#include "runtime/gpu/sensors/gpu_sensors.hpp"
#include "support/isolated_call.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_rows = 16;
constexpr int no_index = -2;
constexpr std::size_t longest_text = 200;  // bytes, of another process
constexpr std::chrono::milliseconds longest_wait{6000};

std::string fit(const std::string& foreign) {
  const auto text = printable(foreign);
  auto kept = std::min(text.size(), longest_text);
  // Do not cut within a character.
  while (kept > 0 && kept < text.size() && (text[kept] & 0xc0) == 0x80) --kept;
  return text.substr(0, kept);
}

}  // namespace

static Json to_json(const GpuSlowdowns& slowdowns) {
  Json list = Json::array();
  for (const GpuSlowdown reason : gpu_slowdowns)
    if (slowdowns.has(reason)) list.push_back(to_string(reason));
  return list;
}

static std::string read_json(const Json& list, GpuSlowdowns& slowdowns) {
  if (!list.is_array()) return "is not an array";
  for (const Json& item : list)
    for (const GpuSlowdown reason : gpu_slowdowns)
      if (item == Json(to_string(reason))) slowdowns.add(reason);
  return "";
}

template <typename Field>
void visit_fields(Field& field, GpuReading& reading) {
  field("utilisation", reading.utilisation);
  field("power_w", reading.power_w);
  field("power_limit_w", reading.power_limit_w);
  field("sm_clock_mhz", reading.sm_clock_mhz);
  field("most_sm_clock_mhz", reading.most_sm_clock_mhz);
  field("temperature_c", reading.temperature_c);
  field("memory_used_bytes", reading.memory_used_bytes);
  field("memory_total_bytes", reading.memory_total_bytes);
  field("ecc_errors", reading.ecc_errors);
  field("throttled", reading.slowdowns);
  field.or_null("trouble", reading.trouble);
  if constexpr (Field::reads) reading.trouble = fit(reading.trouble);
}

template <typename Field>
void visit_fields(Field& field, GpuRow& row) {
  constexpr int most_gpus = 1024;
  if constexpr (Field::reads) row.index = no_index;
  field("host", row.host);
  field("index", within(row.index, -1, most_gpus));
  field("pci", row.pci);
  field("name", row.name);
  visit_fields(field, row.reading);
  if constexpr (Field::reads)
    for (auto* text : {&row.host, &row.pci, &row.name}) *text = fit(*text);
}

namespace {

Result<std::string> read_all(const std::vector<GpuRow>& rows, const GpuLibraries& libraries) {
  Json all = Json::array();
  for (const GpuRow& row : rows) {
    auto sensors = GpuSensors::open(row.pci, libraries);
    all.push_back(
        write_fields(sensors ? (*sensors)->read() : GpuReading{.trouble = sensors.error().what}));
  }
  return all.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool is_troubled(const GpuRow& row) {
  const GpuReading& reading = row.reading;
  return !reading.trouble.empty() || reading.ecc_errors.value_or(0) > 0 ||
         (reading.slowdowns && reading.slowdowns->any());
}

template <typename Value>
std::string or_dash(const std::optional<Value>& value, std::string_view unit, double scale = 1) {
  return value ? fmt::format("{:.0f}{}", static_cast<double>(*value) * scale, unit) : "-";
}

/// "412 of 700 W"
template <typename Value>
std::string of_most(const std::optional<Value>& value, const std::optional<Value>& most,
                    std::string_view unit, int digits = 0, double scale = 1) {
  const auto text = [&](const Value& number) {
    return fmt::format("{:.{}f}", static_cast<double>(number) * scale, digits);
  };
  if (!value) return "-";
  if (!most) return fmt::format("{}{}", text(*value), unit);
  return fmt::format("{} of {}{}", text(*value), text(*most), unit);
}

TableRow cells_of(const GpuRow& row) {
  constexpr double percent = 100;
  constexpr double gib = 1.0 / (1 << 30);
  const GpuReading& reading = row.reading;
  std::string slowed = "-";
  if (reading.slowdowns) slowed = reading.slowdowns->any() ? to_string(*reading.slowdowns) : "no";
  return {row.index < 0 ? row.pci : fmt::format("{} {}", row.index, row.pci),
          row.host,
          row.name.empty() ? "-" : row.name,
          or_dash(reading.utilisation, " %", percent),
          of_most(reading.memory_used_bytes, reading.memory_total_bytes, " GiB", 1, gib),
          of_most(reading.power_w, reading.power_limit_w, " W"),
          of_most(reading.sm_clock_mhz, reading.most_sm_clock_mhz, " MHz"),
          or_dash(reading.temperature_c, " C"),
          slowed,
          or_dash(reading.ecc_errors, "")};
}

}  // namespace

std::vector<GpuRow> read_gpu_rows(const Topology& node, const std::string& host,
                                  const GpuLibraries& libraries) {
  std::vector<GpuRow> rows;
  for (const Gpu& gpu : node.gpus) {
    const bool known =
        std::ranges::any_of(rows, [&](const GpuRow& row) { return row.pci == gpu.pci; });
    if (known || gpu.pci.empty() || (gpu.vendor != "nvidia" && gpu.vendor != "amd")) continue;
    rows.push_back({.host = host, .index = gpu.index, .pci = gpu.pci, .name = gpu.name});
  }
  if (rows.empty()) return rows;
  // Drivers reserve more address space than there is memory, which isolated_call() would limit.
  const auto answers = isolated_calls({{.work = [&] { return read_all(rows, libraries); },
                                        .deadline = std::min(libraries.deadline, longest_wait),
                                        .bounded_memory = false}});
  const auto& answer = answers.front();
  const auto all = answer ? Json::parse(*answer, nullptr, false) : Json();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (all.is_array() && i < all.size()) {
      rows[i].reading = read_what_fits<GpuReading>(all[i]);
    } else {
      rows[i].reading.trouble = answer ? "invalid answer from its driver" : answer.error().what;
    }
  }
  return rows;
}

Json to_json(const GpuRow& row) {
  return write_fields(row);
}

std::optional<GpuRow> gpu_row_from_json(const Json& document) {
  auto row = read_what_fits<GpuRow>(document);
  if (row.index == no_index || row.host.empty() || row.pci.empty()) return std::nullopt;
  return row;
}

std::string render_gpus(const std::vector<GpuRow>& rows, bool color) {
  if (rows.empty()) return "";
  std::vector<GpuRow> sorted = rows;
  std::stable_partition(sorted.begin(), sorted.end(), is_troubled);
  if (sorted.size() > most_rows) sorted.resize(most_rows);
  std::vector<TableRow> cells = {{"GPU", "HOST", "NAME", "BUSY", "MEMORY", "POWER", "CLOCK", "TEMP",
                                  "SLOWED BY", "ECC ERRORS"}};
  for (const GpuRow& row : sorted) cells.push_back(cells_of(row));
  const auto lines = table_lines(cells);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += i == 0 && color ? "\x1b[1m" + lines[i] + "\x1b[0m\n" : lines[i] + "\n";
    if (i > 0 && !sorted[i - 1].reading.trouble.empty())
      text += fmt::format("  {}\n", sorted[i - 1].reading.trouble);
  }
  if (rows.size() > sorted.size())
    text += fmt::format("and {} more GPUs: see --json\n", rows.size() - sorted.size());
  return text + "\n";
}

}  // namespace dllaunch
