#include "launcher/monitor/output_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {

Result<std::vector<OutputNumber::Step>> OutputNumber::path_of(const std::string& text) {
  std::vector<Step> path;
  const auto refuse = [&] {
    return Error{ErrorKind::bad_request, fmt::format("'{}' is no path into JSON", text),
                 "such as $.speed.mean or $.losses[-1]"};
  };
  for (std::size_t at = 1; at < text.size();) {
    if (text[at] == '[') {
      const auto end = std::min(text.find(']', at), text.size());
      const auto place = parse_number<int>(text.substr(at + 1, end - at - 1));
      if (!place || end == text.size()) return refuse();
      path.emplace_back(*place);
      at = end + 1;
    } else if (text[at] == '.') {
      const auto end = std::min(text.find_first_of(".[", at + 1), text.size());
      if (end == at + 1) return refuse();
      path.emplace_back(text.substr(at + 1, end - at - 1));
      at = end;
    } else {
      return refuse();
    }
  }
  return path;
}

Result<OutputNumber> OutputNumber::compile(const std::string& text) {
  OutputNumber number;
  if (text.starts_with("$.") || text.starts_with("$[")) {
    auto path = path_of(text);
    if (!path) return std::move(path).error();
    number.path_ = *std::move(path);
    return number;
  }
  auto pattern = LinePattern::compile(text);
  if (!pattern) return std::move(pattern).error();
  number.pattern_ = *std::move(pattern);
  return number;
}

std::optional<std::string> OutputNumber::in(const std::string& line) const {
  if (pattern_) return pattern_->part_of(line);
  if (line.find('{') == std::string::npos) return std::nullopt;
  const Json document = json_object_in(line);
  const Json* at = &document;
  for (const Step& step : path_) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      if (!at->is_object()) return std::nullopt;
      const auto found = at->find(*key);
      if (found == at->end()) return std::nullopt;
      at = &*found;
    } else {
      if (!at->is_array()) return std::nullopt;
      const auto size = static_cast<std::ptrdiff_t>(at->size());
      const std::ptrdiff_t place = std::get<int>(step);
      const auto index = place < 0 ? size + place : place;
      if (index < 0 || index >= size) return std::nullopt;
      at = &(*at)[static_cast<std::size_t>(index)];
    }
  }
  if (at->is_string()) return at->get<std::string>();
  if (at->is_number()) return at->dump();
  return std::nullopt;
}

}  // namespace dllaunch
