// Reads a JSON file in a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/json.hpp"

namespace dllaunch {

/// Discarded if the file is missing or is not JSON.
inline Json json_of_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace dllaunch
