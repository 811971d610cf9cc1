#include "trainer/config/config_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/support/golden.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

/// The keywords that the launcher's validator knows; it would ignore any other.
void expect_known_keywords(const Json& schema, const std::string& path) {
  static const std::set<std::string> known = {"type",
                                              "enum",
                                              "default",
                                              "minimum",
                                              "exclusiveMinimum",
                                              "exclusiveMaximum",
                                              "minItems",
                                              "maxItems",
                                              "x-backends",
                                              "x-by",
                                              "description",
                                              "required",
                                              "properties",
                                              "items",
                                              "anyOf",
                                              "additionalProperties",
                                              "x-enum-descriptions"};
  for (const auto& [keyword, value] : schema.items()) {
    EXPECT_EQ(known.count(keyword), 1u) << path << ": " << keyword;
  }
  if (!schema.contains("properties")) return;
  EXPECT_EQ(schema["additionalProperties"], false) << path;
  for (const auto& [name, property] : schema["properties"].items()) {
    expect_known_keywords(property, path + "." + name);
  }
}

TEST(ConfigKeys, TheSchemaUsesKeywordsTheLauncherKnows) {
  const Json schema = Json::parse(describe_config());
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["required"], Json::array({"model"}));
  expect_known_keywords(schema, "train");
}

TEST(ConfigKeys, TheSchemaDescribesEveryKeyOfTheBlockAndNoOther) {
  const Json schema = Json::parse(describe_config());
  for (const auto& key : config_keys()) {
    const Json* at = &schema;
    std::string rest = key.path;
    while (at != nullptr && !rest.empty()) {
      const std::string name = rest.substr(0, rest.find('.'));
      rest = rest.size() > name.size() ? rest.substr(name.size() + 1) : "";
      at = at->contains("properties") && (*at)["properties"].contains(name)
               ? &(*at)["properties"][name]
               : nullptr;
    }
    EXPECT_EQ(at != nullptr, !key.launcher) << key.path;
    if (at == nullptr) continue;
    EXPECT_FALSE((*at)["description"].get<std::string>().empty()) << key.path;
    EXPECT_EQ(at->contains("default"), !key.required) << key.path;
  }
}

template <typename Table>
Json names_in_order(const Table& table) {
  Json names = Json::array();
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

TEST(ConfigKeys, WordsComeFromTheTables) {
  const Json properties = Json::parse(describe_config())["properties"];
  EXPECT_EQ(properties["model"]["anyOf"][0]["enum"], names_in_order(models()));
  EXPECT_EQ(properties["dataset"]["properties"]["kind"]["enum"], names_in_order(datasets()));
  EXPECT_EQ(properties["backend"]["enum"].size(), backends().size() + 1);
  const Json& abilities = properties["backend"]["x-backends"];
  ASSERT_EQ(abilities.size(), backends().size());
  EXPECT_EQ(abilities.back(), (Json{{"name", "reference"},
                                    {"device", "cpu"},
                                    {"precisions", {"fp32", "fp64"}},
                                    {"gpu_memory", false}}));
  const auto words = [&](const char* block, const char* key) {
    return properties[block]["properties"][key]["enum"];
  };
  EXPECT_EQ(words("optimizer", "name"), names_in_order(optimizers()));
  EXPECT_EQ(words("lr_schedule", "scaling"), names_in_order(lr_scalings()));
  EXPECT_EQ(words("lr_schedule", "decay"), names_in_order(lr_decays()));
  const Json& betas = properties["optimizer"]["properties"]["betas"];
  EXPECT_EQ(betas["type"], Json::array({"array", "null"}));
  EXPECT_EQ(betas["items"]["exclusiveMaximum"], 1);
  EXPECT_EQ(betas["maxItems"], 2);
  EXPECT_EQ(properties["max_steps"]["type"], Json::array({"integer", "null"}));
}

/// What this build describes, as templates/train.schema.json has it: with the rows of `file` for
/// backends that were not built, and without versions.
Json in_terms_of_the_file(Json described, const Json& file) {
  Json& key = described["properties"]["backend"];
  const Json& all = file["properties"]["backend"];
  Json words = Json::array({"auto"});
  Json descriptions = Json::array({key["x-enum-descriptions"][0]});
  Json abilities = Json::array();
  for (std::size_t i = 0; i < all["x-backends"].size(); ++i) {
    Json ability = all["x-backends"][i];
    const std::string name = ability["name"].get<std::string>();
    const auto built = std::ranges::find(backends(), name, &BackendEntry::name);
    if (built != backends().end()) {
      const auto at = static_cast<std::size_t>(built - backends().begin());
      ability = key["x-backends"][at];
      ability["gpu_memory"] = built->device != "cpu";
    }
    words.push_back(name);
    descriptions.push_back("on " + ability["device"].get<std::string>());
    abilities.push_back(std::move(ability));
  }
  key["enum"] = std::move(words);
  key["x-enum-descriptions"] = std::move(descriptions);
  key["x-backends"] = std::move(abilities);
  return described;
}

TEST(ConfigKeys, AreInTheLaunchersSchemaFile) {
  const std::string path = "templates/train.schema.json";
  std::ifstream in(std::string(DLLAUNCH_SOURCE_DIR) + "/" + path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const Json described = in_terms_of_the_file(Json::parse(describe_config()), Json::parse(text));
  const std::string now = described.dump(2) + "\n";
  ASSERT_TRUE(matches_file(path, now));
  EXPECT_TRUE(text == now) << "wrote " << path
                           << ", which is part of dllaunch: run again to build and compare it";
}

/// The launcher names versions and abilities of backends by what CMake found.
TEST(ConfigKeys, BackendsAreWhatTheBuildTellsTheLauncher) {
  struct Built {
    std::string_view name;
    std::string version;
    bool gpu_memory;
  };
  const Built built[] = {DLLAUNCH_BUILT_BACKENDS};
  ASSERT_EQ(std::size(built), backends().size());
  for (std::size_t i = 0; i < backends().size(); ++i) {
    EXPECT_EQ(built[i].name, backends()[i].name);
    EXPECT_EQ(built[i].version, backends()[i].version());
    EXPECT_EQ(built[i].gpu_memory, backends()[i].gpu_memory);
  }
}

TEST(ConfigKeys, DefaultsPassTheirOwnChecks) {
  Json document;
  document["model"] = models().front().name;
  for (const auto& key : config_keys()) {
    if (key.required) continue;
    const auto dot = key.path.find('.');
    if (dot == std::string::npos) {
      document[key.path] = key.initial;
    } else {
      document[key.path.substr(0, dot)][key.path.substr(dot + 1)] = key.initial;
    }
  }
  auto config = parse_config(document.dump());
  EXPECT_TRUE(config) << config.error().what;
}

}  // namespace
}  // namespace dllaunch
