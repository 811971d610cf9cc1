#include "trainer/config/config_choices.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dllaunch {
namespace {

struct KeyPlace {
  std::string block;
  std::string name;
};

KeyPlace place_of(const std::string& path) {
  const auto dot = path.find('.');
  return {path.substr(0, dot), path.substr(dot + 1)};
}

/// Returns null if absent.
Json value_at(const Json& document, const std::string& block, const std::string& name) {
  if (!document.is_object() || !document.contains(block)) return {};
  const Json& keys = document[block];
  return keys.is_object() && keys.contains(name) ? keys[name] : Json();
}

/// Returns the word that `key` depends on; empty if unknown.
std::string chosen_word(const ConfigKey& key, const Json& document) {
  const std::string block = place_of(key.path).block;
  const auto decides =
      std::ranges::find(config_keys(), block + "." + key.choice.by, &ConfigKey::path);
  const Json word = value_at(document, block, key.choice.by);
  const Json& chosen = word.is_null() ? decides->initial : word;
  const bool known = chosen.is_string() &&
                     std::ranges::find(decides->words, chosen.get<std::string>(), &Word::name) !=
                         decides->words.end();
  return known ? chosen.get<std::string>() : "";
}

/// Returns the keys of `word` in the block of `key`.
std::vector<std::string> keys_of(const ConfigKey& key, const std::string& word) {
  std::vector<std::string> names;
  for (const auto& other : config_keys()) {
    const auto [block, name] = place_of(other.path);
    if (block != place_of(key.path).block || other.choice.by != key.choice.by) continue;
    if (other.choice.initial.contains(word)) names.push_back(name);
  }
  return names;
}

}  // namespace

Json initial_of(const ConfigKey& key, const Json& document) {
  if (key.choice.by.empty()) return key.initial;
  return key.choice.initial.value(chosen_word(key, document), Json());
}

std::vector<std::string> check_choices(const Json& document) {
  std::vector<std::string> problems;
  for (const auto& key : config_keys()) {
    if (key.choice.by.empty()) continue;
    const auto [block, name] = place_of(key.path);
    const std::string word = chosen_word(key, document);
    if (word.empty()) continue;
    const bool given = !value_at(document, block, name).is_null();
    const bool needed = std::ranges::find(key.choice.needed, word) != key.choice.needed.end();
    if (needed && !given) {
      problems.push_back(
          fmt::format("{} is missing: {} {} needs it", key.path, key.choice.by, word));
    }
    if (!given || key.choice.initial.contains(word)) continue;
    const auto has = keys_of(key, word);
    problems.push_back(fmt::format("{}: {} {} has no such key{}{}", key.path, key.choice.by, word,
                                   has.empty() ? "" : "; it has ", fmt::join(has, ", ")));
  }
  return problems;
}

std::vector<std::string> check_update_rule(const TrainConfig& config) {
  std::vector<std::string> problems;
  const OptimizerEntry* optimizer = find_optimizer(config.optimizer);
  if (optimizer != nullptr && optimizer->problem != nullptr) {
    const std::string_view problem = optimizer->problem(config.optimizer_options);
    if (!problem.empty()) problems.push_back(fmt::format("optimizer.{}", problem));
  }
  if (config.average.validate && !config.average.decay) {
    problems.emplace_back("ema.validate: there is no average to validate without ema.decay");
  }
  if (auto problem = schedule_problem(config.schedule); !problem.empty()) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace dllaunch
