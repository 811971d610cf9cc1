#include "launcher/slurm/gres.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace dllaunch {
namespace {

constexpr int most = 4096;  // exceeds any node

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The sockets in parentheses may hold commas: (S:0,2).
std::vector<std::string_view> items_of(std::string_view gres) {
  std::vector<std::string_view> items;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= gres.size(); ++i) {
    if (i < gres.size() && gres[i] == '(') ++depth;
    if (i < gres.size() && gres[i] == ')') --depth;
    if (i == gres.size() || (gres[i] == ',' && depth <= 0)) {
      items.push_back(gres.substr(start, i - start));
      start = i + 1;
    }
  }
  return items;
}

int count_of(std::string_view text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end == text.data() || value < 0 || value > (1 << 20)) return 0;
  return std::min(value, most);
}

/// The number of digits from `at` on.
std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_decimal_digit(text[end])) ++end;
  return end - at;
}

}  // namespace

std::vector<GpuGres> read_gres(std::string_view gres) {
  std::vector<GpuGres> kinds;
  int all = 0;
  for (auto item : items_of(gres)) {
    item = item.substr(0, item.find('('));
    const auto name = item.substr(0, item.find(':'));
    if (name != "gpu") continue;
    auto rest = item.size() > name.size() ? item.substr(name.size() + 1) : std::string_view("1");
    const auto colon = rest.rfind(':');
    const auto type =
        colon == std::string_view::npos ? std::string_view() : rest.substr(0, rest.find(':'));
    const int count = std::min(
        count_of(colon == std::string_view::npos ? rest : rest.substr(colon + 1)), most - all);
    all += count;
    const auto known = std::ranges::find(kinds, type, &GpuGres::type);
    if (known != kinds.end())
      known->count += count;
    else
      kinds.push_back({std::string(type), count});
  }
  std::erase_if(kinds, [](const GpuGres& kind) { return kind.count == 0; });
  return kinds;
}

bool is_gpu_slice(std::string_view type) {
  for (std::size_t at = 0; at < type.size(); ++at) {
    const bool begins = at == 0 || std::string_view("_-.:").find(type[at - 1]) != std::string::npos;
    const auto compute = begins ? digits_at(type, at) : 0;
    auto next = at + compute;
    if (compute == 0 || next >= type.size() || type[next] != 'g') continue;
    ++next;
    if (next < type.size() && (type[next] == '.' || type[next] == '_')) ++next;
    const auto memory = digits_at(type, next);
    if (memory > 0 && type.substr(next + memory).starts_with("gb")) return true;
  }
  return false;
}

std::vector<GpuGres> counted_gpus(const std::vector<GpuGres>& kinds) {
  auto whole = kinds;
  std::erase_if(whole, [](const GpuGres& kind) { return is_gpu_slice(kind.type); });
  return whole.empty() ? kinds : whole;
}

int gpus_in(const std::vector<GpuGres>& kinds) {
  int all = 0;
  for (const auto& kind : kinds) all += kind.count;
  return all;
}

std::string gpu_request(const std::vector<GpuGres>& kinds, const std::string& type, int gpus) {
  if (kinds.size() < 2 || (type.empty() && gpus >= gpus_in(kinds))) return std::to_string(gpus);
  auto wanted = counted_gpus(kinds);
  const auto only = [&wanted](const auto& fits) {
    const auto found = std::ranges::find_if(wanted, fits);
    if (found != wanted.end()) wanted = {GpuGres(*found)};
  };
  if (!type.empty()) {
    wanted = kinds;
    only([&type](const GpuGres& kind) { return kind.type == type; });
  } else {
    only([gpus](const GpuGres& kind) { return kind.count >= gpus; });
  }
  const int asked = gpus;
  std::string text;
  for (const auto& kind : wanted) {
    const int taken = std::min(gpus, kind.count);
    // Slurm cannot request "GPUs without a type".
    if (taken > 0 && kind.type.empty()) return std::to_string(asked);
    if (taken > 0) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", kind.type, taken);
    gpus -= taken;
  }
  return text;
}

std::string gpu_words(const std::vector<GpuGres>& kinds) {
  std::string text;
  for (const auto& kind : kinds)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", kind.count,
                        kind.type.empty() ? "of no type" : kind.type);
  return text;
}

}  // namespace dllaunch
