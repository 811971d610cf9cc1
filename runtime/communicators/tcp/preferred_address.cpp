#include "runtime/communicators/tcp/preferred_address.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace dllaunch {

std::vector<std::string> interfaces_of_card(const std::string& card, const std::string& sys) {
  if (card.empty() || card.starts_with('.') || card.find('/') != std::string::npos) return {};
  std::error_code failed;
  if (std::filesystem::exists(sys + "/class/net/" + card, failed)) return {card};
  std::vector<std::string> names;
  const auto folder = sys + "/class/infiniband/" + card + "/device/net";
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    names.push_back(at->path().filename());
  }
  std::ranges::sort(names);
  for (std::size_t slaves = names.size(), each = 0; each < slaves; ++each) {
    const auto bond =
        std::filesystem::read_symlink(sys + "/class/net/" + names[each] + "/master", failed);
    if (!failed) names.push_back(bond.filename());
  }
  return names;
}

std::string choose_preferred(const std::vector<std::string>& of_card, const std::string& wanted,
                             const std::vector<NetworkInterface>& here) {
  auto allowed = interfaces_meant(wanted.empty() ? "^" : wanted, here);
  std::erase_if(allowed, [](const NetworkInterface& card) { return card.loopback; });
  for (const auto& name : of_card) {
    const auto found = std::ranges::find(allowed, name, &NetworkInterface::name);
    if (found != allowed.end()) return found->address;
  }
  const bool names_some = !wanted.empty() && !wanted.starts_with('^');
  return names_some && !allowed.empty() ? allowed.front().address : "";
}

std::string preferred_address(const EnvLookup& lookup) {
  const auto of_card = interfaces_of_card(lookup(nic_variable).value_or(""), "/sys");
  const auto wanted = lookup("NCCL_SOCKET_IFNAME").value_or("");
  if (of_card.empty() && wanted.empty()) return "";
  return choose_preferred(of_card, wanted, interfaces_here());
}

}  // namespace dllaunch
