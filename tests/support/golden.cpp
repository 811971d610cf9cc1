#include "tests/support/golden.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

namespace dllaunch {
namespace {

std::optional<std::string> read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream left(expected);
  std::istringstream right(actual);
  for (int line = 1;; ++line) {
    std::string a;
    std::string b;
    const bool more_a = static_cast<bool>(std::getline(left, a));
    const bool more_b = static_cast<bool>(std::getline(right, b));
    if (!more_a && !more_b) return "only the end of the last line differs\n";
    if (more_a != more_b || a != b) {
      return "line " + std::to_string(line) + "\n  file: " + (more_a ? a : "(ended)") +
             "\n  text: " + (more_b ? b : "(ended)") + "\n";
    }
  }
}

}  // namespace

testing::AssertionResult matches_file(const std::string& path, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(DLLAUNCH_SOURCE_DIR) / path;
  const auto expected = read_whole(file);
  if (expected && *expected == text) return testing::AssertionSuccess();

  const char* update = std::getenv("DLLAUNCH_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    std::cerr << "wrote " << path << "\n";
    return testing::AssertionSuccess();
  }
  const std::string rewrite = "DLLAUNCH_UPDATE_GOLDEN=1 rewrites the file; the whole text:\n";
  if (!expected) return testing::AssertionFailure() << path << " is missing; " << rewrite << text;
  return testing::AssertionFailure()
         << path << " differs first in " << first_difference(*expected, text) << rewrite << text;
}

testing::AssertionResult matches_golden(const std::string& name, const std::string& text) {
  return matches_file("tests/golden/" + name, text);
}

}  // namespace dllaunch
