// A forecast as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/failures/failure_forecast.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// `now_s`: Unix seconds, from which the finish is counted; nullopt: none is told.
std::string render_forecast(const FailureForecast& forecast, double now_s);
Json to_json(const FailureForecast& forecast, std::optional<double> now_s);

/// "97.1 % (95.0 to 98.2)".
std::string percent(const Spread& share);
/// "5.0 (2 to 9)".
std::string counts(const Spread& counts);
/// "save 30 s, detect 60 s, ...", as --assume has them.
std::string costs_words(const FailureCosts& costs);
/// "  label        text" in lines of 80 columns; empty: no text.
std::string labelled(std::string_view label, std::string_view text);

}  // namespace dllaunch
