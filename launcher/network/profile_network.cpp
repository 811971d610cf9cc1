#include "launcher/network/profile_network.hpp"

#include <utility>

#include "launcher/network/network_draft.hpp"

namespace dllaunch {
namespace {

Json text(const char* expected) {
  return {{"type", "string"},
          {"maxLength", 65536},
          {"pattern", "^[^\x01-\x1f\x7f]*$"},
          {"default", ""},
          {"x-expected", expected}};
}

}  // namespace

Json profile_network_schema() {
  Json name = text("a name");
  name["pattern"] = "^[^\x01-\x1f\x7f]+$";
  name.erase("default");
  const Json unit = {{"type", "object"},
                     {"additionalProperties", false},
                     {"properties",
                      {{"name", name},
                       {"nodes", text("a host list such as n[1-16]")},
                       {"units", text("a list of smaller units such as s[1-4]")}}},
                     {"required", Json::array({"name"})}};
  return {{"type", Json::array({"object", "null"})},
          {"additionalProperties", false},
          {"properties",
           {{"kind",
             {{"type", "string"},
              {"enum", Json::array({"tree", "block", "dragonfly", "fabric"})},
              {"default", "tree"}}},
            {"levels",
             {{"type", "array"},
              {"items", name},
              {"default", Json::array()},
              {"x-expected", "a list of names, smallest units first"}}},
            {"units",
             {{"type", "array"},
              {"items", unit},
              {"default", Json::array()},
              {"x-expected", "a list of units"}}}}}};
}

Network network_of_profile(const Json& block, std::string source) {
  if (!block.is_object() || block.value("units", Json::array()).empty()) return {};
  NetworkDraft draft(
      {.kind = block.value("kind", std::string("tree")), .source = std::move(source)});
  for (const Json& level : block.value("levels", Json::array()))
    draft.network().levels.push_back(level.get<std::string>());
  for (const Json& unit : block.value("units", Json::array()))
    draft.add(unit.value("name", std::string()), unit.value("units", std::string()),
              unit.value("nodes", std::string()));
  return std::move(draft).finished();
}

}  // namespace dllaunch
