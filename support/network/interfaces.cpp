#include "support/network/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "support/network/parts_of.hpp"
#include "support/network/sockets.hpp"

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
  pattern.names = parts_of(text, ',');
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

std::vector<NetworkInterface> interfaces_here() {
  std::vector<NetworkInterface> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    auto address = numeric_address(at->ifa_addr);
    if (address.empty()) continue;
    found.push_back({.name = at->ifa_name,
                     .address = std::move(address),
                     .loopback = (at->ifa_flags & IFF_LOOPBACK) != 0,
                     .up = (at->ifa_flags & IFF_UP) != 0});
  }
  freeifaddrs(list);
  return found;
}

std::vector<NetworkInterface> interfaces_meant(const std::string& wanted,
                                               const std::vector<NetworkInterface>& interfaces) {
  const auto pattern = pattern_of(wanted);
  std::vector<NetworkInterface> meant;
  std::ranges::copy_if(interfaces, std::back_inserter(meant), [&](const NetworkInterface& card) {
    return is_usable(card) && is_meant(pattern, card.name) && !(card.loopback && pattern.exclude);
  });
  std::stable_partition(meant.begin(), meant.end(), [](const NetworkInterface& card) {
    return card.address.find(':') == std::string::npos;
  });
  return meant;
}

}  // namespace dllaunch
