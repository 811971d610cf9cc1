// Checks by name, and what nodes may have seen, for tests of judgement.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "launcher/preflight/check.hpp"

namespace dllaunch {

inline const PreflightCheck& check_named(std::string_view name) {
  const auto all = preflight_checks();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto* check) { return check->name == name; });
  return **found;
}

inline NodeSample sample(const std::string& node, Json seen, const std::string& item = "") {
  return {.node = node, .item = item, .seen = std::move(seen)};
}

/// "ok", "warn: why", "fail: why" of each result in order, with its item where it has one.
inline std::vector<std::string> words_of(const std::vector<NodeResult>& results) {
  std::vector<std::string> lines;
  for (const auto& [node, result] : results) {
    auto text = node + (result.item.empty() ? "" : " " + result.item) + " ";
    text += result.level == Level::ok ? "ok" : result.level == Level::warn ? "warn: " : "fail: ";
    lines.push_back(text + result.why);
    EXPECT_EQ(result.level == Level::ok, result.fix.empty()) << lines.back();
    EXPECT_FALSE(result.value.empty()) << lines.back();
  }
  return lines;
}

inline std::vector<std::string> judged(std::string_view check, const PreflightRequest& request,
                                       const std::vector<NodeSample>& samples) {
  return words_of(check_named(check).judge(request, samples));
}

using Words = std::vector<std::string>;

}  // namespace dllaunch
