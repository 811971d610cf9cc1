#include "launcher/preflight/interface_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

struct Pattern {
  bool exclude = false;
  bool whole = false;
  std::vector<std::string_view> names = {};
};

Pattern pattern_of(std::string_view text) {
  Pattern pattern;
  if (text.starts_with('^')) {
    pattern.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    pattern.whole = true;
    text.remove_prefix(1);
  }
  pattern.names = split_at(text, ',');
  std::erase(pattern.names, "");
  return pattern;
}

bool is_meant(const Pattern& pattern, std::string_view name) {
  const bool listed =
      std::any_of(pattern.names.begin(), pattern.names.end(), [&](std::string_view known) {
        return pattern.whole ? name == known : name.starts_with(known);
      });
  return listed != pattern.exclude;
}

bool is_usable(const NetworkInterface& card) {
  return card.up && !card.address.empty() && !card.address.starts_with("fe80:");
}

}  // namespace

Result<NetworkInterface> choose_interface(const std::string& wanted,
                                          const std::vector<NetworkInterface>& interfaces) {
  const auto pattern = pattern_of(wanted);
  const NetworkInterface* chosen = nullptr;
  for (const auto& card : interfaces) {
    if (!is_usable(card) || !is_meant(pattern, card.name)) continue;
    if (card.loopback && pattern.exclude) continue;
    const bool four = card.address.find(':') == std::string::npos;
    if (chosen == nullptr || (four && chosen->address.find(':') != std::string::npos))
      chosen = &card;
  }
  if (chosen != nullptr) return *chosen;
  std::string there;
  for (const auto& card : interfaces)
    if (is_usable(card) && !card.loopback) there += (there.empty() ? "" : ", ") + card.name;
  return Error{ErrorKind::unavailable,
               fmt::format("NCCL_SOCKET_IFNAME={} matches no interface that is up; there are: {}",
                           wanted, there.empty() ? "none" : there),
               ""};
}

}  // namespace dllaunch
