#include "launcher/provenance/seeds.hpp"

#include <fmt/core.h>

namespace dllaunch {
namespace {

void collect(const std::string& path, const Json& value, std::map<std::string, std::string>& into) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      collect(path.empty() ? key : fmt::format("{}.{}", path, key), inner, into);
  } else if (!value.is_null() && path.ends_with("seed")) {
    into.emplace(path, value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

}  // namespace

std::map<std::string, std::string> seeds_of(const Json& job) {
  std::map<std::string, std::string> seeds;
  collect("", job, seeds);
  return seeds;
}

}  // namespace dllaunch
