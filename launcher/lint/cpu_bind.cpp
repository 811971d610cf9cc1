#include "launcher/lint/cpu_bind.hpp"

#include <algorithm>
#include <cctype>

namespace dllaunch::lint {
namespace {

std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return low;
}

bool is_hex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

BindItem read_item(Text text, bool map) {
  BindItem item;
  item.text = std::move(text);
  const std::string& bytes = item.text.bytes();
  if (!item.text.known()) {
    item.state = BindItem::State::unknown;
  } else if (item.text.has_gap()) {
    item.state = BindItem::State::unset;
  } else if (bytes.empty()) {
    item.state = BindItem::State::empty;
  } else {
    const bool marked = bytes.starts_with("0x") || bytes.starts_with("0X");
    const std::string_view digits = std::string_view(bytes).substr(marked ? 2 : 0);
    const long cpu = map && !marked ? number_of(digits) : -1;
    const auto mask = is_hex(digits) ? parse_mask(digits) : parse_mask("x");
    if (map && !marked) {
      item.state =
          cpu >= 0 && cpu <= IdSet::max_id ? BindItem::State::good : BindItem::State::malformed;
      if (item.state == BindItem::State::good) item.cpus.insert(static_cast<int>(cpu));
    } else if (map) {
      const bool small = is_hex(digits) && digits.size() <= 4;
      item.state = small ? BindItem::State::good : BindItem::State::malformed;
      if (small) item.cpus.insert(std::stoi(std::string(digits), nullptr, 16));
    } else if (!mask) {
      item.state = BindItem::State::malformed;
    } else {
      item.cpus = *mask;
      item.state = mask->empty() ? BindItem::State::empty : BindItem::State::good;
    }
  }
  return item;
}

void read_items(CpuBind& bind) {
  constexpr std::size_t most_items = 4096;
  const std::string& bytes = bind.list.bytes();
  for (std::size_t i = 0; i <= bytes.size() && bind.items.size() < most_items;) {
    const std::size_t end = std::min(bytes.find(',', i), bytes.size());
    std::size_t stop = end;
    long times = 1;
    const std::size_t star = bytes.find('*', i);
    if (star < end) {
      stop = star;
      times = number_of(std::string_view(bytes).substr(star + 1, end - star - 1));
    }
    BindItem item = read_item(bind.list.part(i, stop - i), bind.map);
    if (times < 1) item.state = BindItem::State::malformed;
    for (long k = 0; k < std::clamp<long>(times, 1, 1024); ++k) bind.items.push_back(item);
    i = end + 1;
  }
}

}  // namespace

bool CpuBind::known() const {
  return std::ranges::none_of(items, [](const BindItem& item) {
    return item.state == BindItem::State::unknown || item.state == BindItem::State::unset;
  });
}

bool CpuBind::good() const {
  return !items.empty() && std::ranges::all_of(items, [](const BindItem& item) {
    return item.state == BindItem::State::good;
  });
}

bool read_bind_list(const Text& value, CpuBind& bind) {
  const std::string low = lower(value.bytes());
  std::size_t begin = std::string::npos;
  for (const std::string_view type : {"mask_cpu", "map_cpu"}) {
    const std::size_t at = low.find(type);
    const std::size_t end = at + type.size();
    const bool starts = at != std::string::npos && (at == 0 || low[at - 1] == ',');
    if (!starts || end >= low.size() || (low[end] != ':' && low[end] != '=')) continue;
    bind.map = type == "map_cpu";
    begin = end + 1;
  }
  bind.value = value;
  if (begin == std::string::npos) {
    // "--cpu-bind=$MASKS" with an unset or unknown value may be such a list.
    const bool only_marks = low.find_first_not_of(Text::hole) == std::string::npos;
    if (!only_marks || value.marks().empty()) return false;
    bind.list = value;
    return true;
  }
  bind.typed = true;
  bind.list = value.part(begin);
  read_items(bind);
  return true;
}

std::vector<CpuBind> cpu_binds(const Script& script) {
  std::vector<CpuBind> binds;
  constexpr std::size_t most_binds = 200;
  for (const Launch& launch : script.launches) {
    if (launch.program != "srun" || binds.size() >= most_binds) continue;
    CpuBind bind;
    bind.launch = &launch;
    bind.option = last_option(launch.options, "cpu-bind");
    Text value;
    if (bind.option != nullptr) {
      value = bind.option->value;
    } else {
      const auto inherited = launch.command->environment.find("SLURM_CPU_BIND");
      if (inherited == launch.command->environment.end()) continue;
      value = inherited->second->text;
    }
    if (read_bind_list(value, bind)) binds.push_back(std::move(bind));
  }
  return binds;
}

bool looks_like_bind_list(const std::string& name, const Text& value) {
  CpuBind bind;
  if (value.empty()) return false;
  if (read_bind_list(value, bind) && bind.typed) return true;
  const std::string low = lower(name);
  const bool named = low.find("mask") != std::string::npos || low.find("bind") != std::string::npos;
  const bool named_map = low.find("map") != std::string::npos;
  bind.list = value;
  bind.map = named_map && !named;
  bind.items.clear();
  read_items(bind);
  const auto fits = [](const BindItem& item) { return item.state != BindItem::State::malformed; };
  if (bind.items.size() < 2 || !std::ranges::all_of(bind.items, fits)) {
    return false;
  }
  return named || named_map || value.bytes().starts_with("0x");
}

}  // namespace dllaunch::lint
