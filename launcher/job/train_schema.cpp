#include "launcher/job/train_schema.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dllaunch {

Json train_schema_of(std::string_view text, std::span<const BuiltBackend> built) {
  Json schema = Json::parse(text);
  Json& key = schema["properties"]["backend"];
  Json names = Json::array({"auto"});
  Json descriptions = Json::array({key["x-enum-descriptions"][0]});
  Json abilities = Json::array();
  for (std::size_t i = 0; i < key["x-backends"].size(); ++i) {
    Json ability = key["x-backends"][i];
    const std::string name = ability["name"].get<std::string>();
    const auto known = std::ranges::find(built, name, &BuiltBackend::name);
    if (known == built.end()) continue;
    const std::string where = key["x-enum-descriptions"][i + 1].get<std::string>();
    names.push_back(name);
    descriptions.push_back(std::string(known->version) + " " + where);
    ability["gpu_memory"] = ability["gpu_memory"].get<bool>() && known->gpu_memory;
    abilities.push_back(std::move(ability));
  }
  key["enum"] = std::move(names);
  key["x-enum-descriptions"] = std::move(descriptions);
  key["x-backends"] = std::move(abilities);
  return schema;
}

const Json& train_schema() {
  static const Json schema = train_schema_of(train_schema_text(), built_backends());
  return schema;
}

}  // namespace dllaunch
