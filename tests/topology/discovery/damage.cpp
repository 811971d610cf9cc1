#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {

// splitmix64
int Random::below(int bound) {
  state_ += 0x9e3779b97f4a7c15;
  auto z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(bound));
}

std::string damaged(std::string_view text, Random& random) {
  constexpr std::string_view spice = "0123456789abcxf,-:\"'{}[]<>&;/= \n\t\0\x7f\xff.eE+";
  std::string out(text);
  const int times = 1 + random.below(4);
  for (int i = 0; i < times; ++i) {
    const int size = static_cast<int>(out.size());
    const auto place = static_cast<std::size_t>(random.below(size + 1));
    const auto length = static_cast<std::size_t>(random.below(8)) + 1;
    const char letter =
        spice[static_cast<std::size_t>(random.below(static_cast<int>(spice.size())))];
    switch (random.below(6)) {
      case 0:
        if (place < out.size()) out[place] = letter;
        break;
      case 1:
        out.erase(place, length);
        break;
      case 2:
        out.insert(place, 1, letter);
        break;
      case 3:
        out.insert(place, out.substr(place, length));
        break;
      case 4:
        out.resize(place);
        break;
      default:
        out.insert(place, "99999999999999999999");
    }
  }
  return out;
}

}  // namespace dllaunch
