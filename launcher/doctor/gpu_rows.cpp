#include "launcher/doctor/gpu_rows.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "launcher/base/table.hpp"
#include "launcher/base/utf8.hpp"
#include "runtime/gpu/sensors/gpu_sensors.hpp"
#include "support/isolated_call.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_rows = 16;
constexpr std::size_t longest_text = 200;  // bytes, of another process
constexpr std::chrono::milliseconds longest_wait{6000};

struct Number {
  const char* key;
  std::optional<double> GpuReading::*value;
};
constexpr Number numbers[] = {{"utilisation", &GpuReading::utilisation},
                              {"power_w", &GpuReading::power_w},
                              {"power_limit_w", &GpuReading::power_limit_w},
                              {"sm_clock_mhz", &GpuReading::sm_clock_mhz},
                              {"most_sm_clock_mhz", &GpuReading::most_sm_clock_mhz},
                              {"temperature_c", &GpuReading::temperature_c}};
struct Count {
  const char* key;
  std::optional<std::uint64_t> GpuReading::*value;
};
constexpr Count counts[] = {{"memory_used_bytes", &GpuReading::memory_used_bytes},
                            {"memory_total_bytes", &GpuReading::memory_total_bytes},
                            {"ecc_errors", &GpuReading::ecc_errors}};

Json reading_json(const GpuReading& reading) {
  Json json = Json::object();
  const auto put = [&](const char* key, const auto& value) {
    json[key] = value ? Json(*value) : Json();
  };
  for (const auto& [key, value] : numbers) put(key, reading.*value);
  for (const auto& [key, value] : counts) put(key, reading.*value);
  json["throttled"] = nullptr;
  if (reading.slowdowns) {
    json["throttled"] = Json::array();
    for (const GpuSlowdown reason : gpu_slowdowns) {
      if (reading.slowdowns->has(reason)) json["throttled"].push_back(to_string(reason));
    }
  }
  json["trouble"] = reading.trouble.empty() ? Json() : Json(reading.trouble);
  return json;
}

std::optional<GpuSlowdowns> slowdowns_in(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  GpuSlowdowns found;
  for (const Json& item : list) {
    for (const GpuSlowdown reason : gpu_slowdowns) {
      if (item == Json(to_string(reason))) found.add(reason);
    }
  }
  return found;
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  const auto text = printable(found->get<std::string>());
  auto kept = std::min(text.size(), longest_text);
  // Never within a character.
  while (kept > 0 && kept < text.size() && (text[kept] & 0xc0) == 0x80) --kept;
  return text.substr(0, kept);
}

GpuReading reading_from(const Json& object) {
  GpuReading reading;
  for (const auto& [key, value] : numbers) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_number() && std::isfinite(found->get<double>()))
      reading.*value = found->get<double>();
  }
  for (const auto& [key, value] : counts) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_number_unsigned())
      reading.*value = found->get<std::uint64_t>();
  }
  const auto throttled = object.find("throttled");
  if (throttled != object.end()) reading.slowdowns = slowdowns_in(*throttled);
  reading.trouble = text_in(object, "trouble");
  return reading;
}

Result<std::string> read_all(const std::vector<GpuRow>& rows, const GpuLibraries& libraries) {
  Json all = Json::array();
  for (const GpuRow& row : rows) {
    auto sensors = GpuSensors::open(row.pci, libraries);
    all.push_back(
        reading_json(sensors ? (*sensors)->read() : GpuReading{.trouble = sensors.error().what}));
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
  // A driver reserves more addresses than there is memory: isolated_call() would bound that.
  const auto answers = isolated_calls({{.work = [&] { return read_all(rows, libraries); },
                                        .deadline = std::min(libraries.deadline, longest_wait),
                                        .bounded_memory = false}});
  const auto& answer = answers.front();
  const auto all = answer ? Json::parse(*answer, nullptr, false) : Json();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (all.is_array() && i < all.size()) {
      rows[i].reading = reading_from(all[i]);
    } else {
      rows[i].reading.trouble = answer ? "its driver's answer makes no sense" : answer.error().what;
    }
  }
  return rows;
}

Json to_json(const GpuRow& row) {
  Json json = {{"host", row.host}, {"index", row.index}, {"pci", row.pci}, {"name", row.name}};
  json.update(reading_json(row.reading));
  return json;
}

std::optional<GpuRow> gpu_row_from_json(const Json& document) {
  if (!document.is_object()) return std::nullopt;
  const auto index = document.find("index");
  if (index == document.end() || !index->is_number_integer()) return std::nullopt;
  constexpr double most_gpus = 1024;
  const auto number = index->get<double>();
  if (number < -1 || number > most_gpus) return std::nullopt;
  GpuRow row{.host = text_in(document, "host"),
             .index = index->get<int>(),
             .pci = text_in(document, "pci"),
             .name = text_in(document, "name"),
             .reading = reading_from(document)};
  if (row.host.empty() || row.pci.empty()) return std::nullopt;
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
    text += fmt::format("and {} GPUs more: --json has them all\n", rows.size() - sorted.size());
  return text + "\n";
}

}  // namespace dllaunch
