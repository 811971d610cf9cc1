// Where an axis has its ticks, and what they say.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

struct Ticks {
  double low = 0;  // the ends of the axis
  double high = 1;
  bool logarithmic = false;
  std::vector<double> at = {};  // from low to high
  std::vector<std::string> labels = {};

  /// 0 at the axis's low end, 1 at its high end; outside for a value that is outside.
  double share(double value) const;
};

/// At most `most` ticks (at least 3) at multiples of 1, 2 or 5 times a power of ten; the axis ends
/// at a tick. Any finite values, in any order: equal ones get an axis around them.
Ticks linear_ticks(double low, double high, int most);

/// Ticks at 1, 2 and 5 times powers of ten, or at powers alone over many of them. Both > 0.
/// linear_ticks() where the values span less than a factor of two, or so little that fewer than
/// three of those ticks are among them.
Ticks logarithmic_ticks(double low, double high, int most);

/// A number for people: "1,250", "0.00125", "12,500,000", "1.5e-07", "2.5e+12".
std::string short_number(double value, int digits = 4);

}  // namespace dllaunch
