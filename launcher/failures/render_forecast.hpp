// A forecast as text and as JSON.
#pragma once

#include <string>

#include "launcher/failures/failure_forecast.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// `now_s`: Unix seconds, from which the finish is counted.
std::string render_forecast(const FailureForecast& forecast, double now_s);
Json to_json(const FailureForecast& forecast, double now_s);

/// "97.1 % (95.0 to 98.2)".
std::string percent(const Spread& share);
/// "5.0 (2 to 9)".
std::string counts(const Spread& counts);

}  // namespace dllaunch
