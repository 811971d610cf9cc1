#include "trainer/config/config.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "support/file_text.hpp"
#include "trainer/config/config_choices.hpp"
#include "trainer/config/config_keys.hpp"
#include "trainer/config/fine_tuning_keys.hpp"
#include "trainer/config/pipeline_keys.hpp"
#include "trainer/config/split_keys.hpp"
#include "trainer/graph/layer_list.hpp"

namespace dllaunch {
namespace {

/// Returns the edit distance (insert, delete, replace).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[to.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 64;  // the distance costs the product of the lengths
  word = word.substr(0, longest);
  return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return distance(word, a) < distance(word, b);
  });
}

/// Above this (2^53), doubles no longer represent every integer.
constexpr double largest_exact = 9007199254740992.0;

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::abs(value.get<double>()) <= largest_exact &&
         value.get<double>() == std::floor(value.get<double>());
}

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

bool is_block(const std::string& path) {
  return std::any_of(config_keys().begin(), config_keys().end(),
                     [&](const ConfigKey& key) { return key.path.rfind(path + ".", 0) == 0; });
}

/// Returns the valid names in a block; "" is the document.
std::vector<std::string> names_under(const std::string& block) {
  std::vector<std::string> names;
  const std::string prefix = block.empty() ? "" : block + ".";
  for (const auto& key : config_keys()) {
    if (key.path.rfind(prefix, 0) != 0) continue;
    const std::string rest = key.path.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string kind_of(const ConfigKey& key) {
  std::string kind;
  switch (key.kind) {
    case ValueKind::text:
      kind = "a string";
      break;
    case ValueKind::texts:
      kind = "a list of strings";
      break;
    case ValueKind::word:
    case ValueKind::network:
      kind = "one of";
      break;
    case ValueKind::integer:
      kind = "an integer";
      break;
    case ValueKind::number:
      kind = "a number";
      break;
    case ValueKind::numbers:
      kind = key.count ? fmt::format("a list of {} numbers", *key.count) : "a list of numbers";
      break;
    case ValueKind::flag:
      kind = "true or false";
      break;
  }
  for (const auto& word : key.words) {
    const bool alone = key.kind == ValueKind::word || key.kind == ValueKind::network;
    kind += (alone ? " " : " or ") + word.name;
  }
  if (key.kind == ValueKind::network) kind += " or {layers: [...]}";
  return key.nullable ? kind + " or null" : kind;
}

bool is_word_of(const ConfigKey& key, const Json& value) {
  return value.is_string() &&
         std::any_of(key.words.begin(), key.words.end(),
                     [&](const Word& word) { return word.name == value.text(); });
}

std::string check_range(const ConfigKey& key, const Json& value) {
  const double number = value.get<double>();
  if (key.minimum && number < *key.minimum) {
    return fmt::format("{} must be at least {}, not {}", key.path, *key.minimum, value.dump());
  }
  if (key.above && !(number > *key.above)) {
    return fmt::format("{} must be greater than {}, not {}", key.path, *key.above, value.dump());
  }
  if (key.below && !(number < *key.below)) {
    return fmt::format("{} must be less than {}, not {}", key.path, *key.below, value.dump());
  }
  const double most = key.wide ? largest_exact : std::numeric_limits<int>::max();
  if (key.kind == ValueKind::integer && number > most) {
    return fmt::format("{} must be at most {:.0f}, not {}", key.path, most, value.dump());
  }
  return "";
}

std::string wrong_kind(const ConfigKey& key, const Json& value) {
  if (value.is_string() && (key.kind == ValueKind::word || key.kind == ValueKind::network)) {
    std::vector<std::string> known;
    for (const auto& word : key.words) known.push_back(word.name);
    return fmt::format("{} has no '{}'; did you mean '{}'? ({})", key.path,
                       value.get<std::string>(), nearest(value.get<std::string>(), known),
                       fmt::join(known, ", "));
  }
  return fmt::format("{} must be {}, not {}", key.path, kind_of(key),
                     value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool is_list_for(const ConfigKey& key, const Json& value) {
  if (!value.is_array() || value.empty()) return false;
  if (key.count && value.size() != static_cast<std::size_t>(*key.count)) return false;
  return std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_number(); });
}

/// The list may be empty, its strings may not.
bool is_list_of_texts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& item) {
           return item.is_string() && !item.text().empty();
         });
}

std::string check_items(const ConfigKey& key, const Json& list) {
  for (const Json& item : list) {
    if (auto problem = check_range(key, item); !problem.empty()) return problem;
  }
  return "";
}

/// Returns what is wrong with the value; empty if nothing is.
std::string check_value(const ConfigKey& key, const Json& value) {
  if (value.is_null() && key.nullable) return "";
  if (is_word_of(key, value)) return "";
  switch (key.kind) {
    case ValueKind::text:
      if (value.is_string()) return "";
      break;
    case ValueKind::texts:
      if (is_list_of_texts(value)) return "";
      break;
    case ValueKind::word:
      break;
    case ValueKind::network:
      if (value.is_object()) return fmt::format("{}", fmt::join(check_layer_list(value), "\n"));
      break;
    case ValueKind::flag:
      if (value.is_boolean()) return "";
      break;
    case ValueKind::integer:
      if (is_whole(value)) return check_range(key, value);
      break;
    case ValueKind::number:
      if (value.is_number()) return check_range(key, value);
      break;
    case ValueKind::numbers:
      if (is_list_for(key, value)) return check_items(key, value);
      break;
  }
  return wrong_kind(key, value);
}

class Reader {
 public:
  explicit Reader(const Json& document) : document_(document) {}

  void read_block(const std::string& block, const Json& object) {
    constexpr std::size_t most_problems = 100;
    for (const auto& [name, value] : object.items()) {
      if (problems_.size() >= most_problems) return;
      std::string path = block;
      if (!path.empty()) path += '.';
      path += name;
      const auto key = std::find_if(config_keys().begin(), config_keys().end(),
                                    [&](const ConfigKey& k) { return k.path == path; });
      if (key != config_keys().end()) {
        read_value(*key, value);
      } else if (!is_block(path)) {
        const auto known = names_under(block);
        problems_.push_back(fmt::format("unknown key '{}'; did you mean '{}'? ({})", path,
                                        nearest(name, known), fmt::join(known, ", ")));
      } else if (!value.is_object()) {
        problems_.push_back(
            fmt::format("{} must be a block of {}", path, fmt::join(names_under(path), ", ")));
      } else {
        read_block(path, value);
      }
    }
  }

  void fill_defaults() {
    for (const auto& key : config_keys()) {
      if (std::find(seen_.begin(), seen_.end(), &key) != seen_.end()) continue;
      if (key.required) {
        problems_.push_back(fmt::format("{} is missing: {}", key.path, kind_of(key)));
      } else {
        store(key, initial_of(key, document_));
      }
    }
  }

  /// Checks combinations of keys.
  void check_together() {
    config_.schedule.epochs = static_cast<double>(config_.epochs);
    std::ranges::move(check_choices(document_), std::back_inserter(problems_));
    std::ranges::move(check_update_rule(config_), std::back_inserter(problems_));
    std::ranges::move(check_fine_tuning(config_), std::back_inserter(problems_));
    std::ranges::move(check_pipeline(config_), std::back_inserter(problems_));
    std::ranges::move(check_split(config_), std::back_inserter(problems_));
    const RuntimeConfig& runtime = config_.runtime;
    constexpr double a_year = 365 * 86400;
    if (!(runtime.stall_seconds < runtime.stall_abort_seconds) ||
        runtime.stall_abort_seconds > a_year) {
      problems_.push_back(
          fmt::format("runtime.stall_abort_seconds must be greater than stall_seconds ({}) and at "
                      "most {}, not {}",
                      runtime.stall_seconds, a_year, runtime.stall_abort_seconds));
    }
    const std::string& best = config_.checkpoint.best;
    if (best.starts_with("val_") && config_.validate_every == 0) {
      problems_.push_back(fmt::format(
          "checkpoint.best: {} is measured in validations, and validate_every is 0", best));
    }
    const DatasetEntry* dataset = find_dataset(config_.dataset);
    const DatasetOptions& data = config_.data;
    if (dataset == nullptr) return;  // already reported
    if (!dataset->files && !data.path.empty()) {
      problems_.push_back(fmt::format("dataset.path: kind {} has no files", config_.dataset));
    }
    if (!config_.stage_to.empty() && data.path.empty()) {
      problems_.push_back("dataset.stage_to: there is no dataset.path to copy from");
    }
    const auto refuse_unless_taken = [&](const char* option, bool given) {
      if (!given || dataset->takes.find(option) != std::string_view::npos) return;
      problems_.push_back(
          fmt::format("dataset.{}: kind {} does not take it", option, config_.dataset));
    };
    refuse_unless_taken("images", data.images.has_value());
    refuse_unless_taken("classes", data.classes.has_value());
    refuse_unless_taken("channels", data.channels.has_value());
    refuse_unless_taken("layout", data.layout == "nchw");
    refuse_unless_taken("sequence", data.sequence.has_value());
    check_tokens();
    if (config_.precision == Precision::fp64 && config_.backend != "auto" &&
        config_.backend != "reference") {
      problems_.push_back(
          fmt::format("precision fp64 needs backend reference, not {}", config_.backend));
    }
    if (config_.runtime.gradient_lag > 1) {
      problems_.push_back(
          fmt::format("runtime.gradient_lag must be 0 or 1, not {}", config_.runtime.gradient_lag));
    }
    if (config_.precision == Precision::fp64 && config_.runtime.compression != Compression::none) {
      problems_.push_back("runtime.compression: not supported with precision fp64");
    }
    if (config_.precision == Precision::fp16 && config_.runtime.compression != Compression::none) {
      problems_.push_back(
          "runtime.compression: not supported with precision fp16, whose gradients are scaled");
    }
    if (config_.precision == Precision::fp16 && config_.runtime.gradient_lag > 0) {
      problems_.push_back(
          "runtime.gradient_lag: not supported with precision fp16, whose loss scale may "
          "change between steps");
    }
    config_.data.seed = config_.seed;
  }

  Result<TrainConfig> finish() && {
    if (problems_.empty()) return std::move(config_);
    return Error{ErrorKind::bad_request, fmt::format("{}", fmt::join(problems_, "\n")),
                 "`dltrain --describe` lists every key"};
  }

 private:
  /// Keys that sequences of tokens do not take.
  void check_tokens() {
    const DatasetOptions& data = config_.data;
    if (config_.dataset != "tokens" && !data.sequence) return;
    const auto refuse = [&](const char* key, bool given, const char* why) {
      if (given) problems_.push_back(fmt::format("{}: {}", key, why));
    };
    refuse("dataset.image_size", data.image_size.has_value(), "tokens have no pixels");
    refuse("dataset.channels", data.channels && config_.dataset != "tokens",
           "tokens have no channels");
    refuse("dataset.crop", config_.crop > 0, "tokens are not cropped");
    refuse("dataset.flip", config_.flip, "tokens are not mirrored");
    refuse("dataset.stage_to",
           !config_.stage_to.empty() && data.path.find_first_of("*?") != std::string::npos,
           "needs a folder in dataset.path, not a pattern");
  }

  void read_value(const ConfigKey& key, const Json& value) {
    seen_.push_back(&key);
    if (auto problem = check_value(key, value); !problem.empty()) {
      problems_.push_back(std::move(problem));
    } else {
      const bool absent = value.is_null() && !key.choice.by.empty();
      store(key, absent ? initial_of(key, document_) : value);
    }
  }

  void store(const ConfigKey& key, const Json& value) {
    key.store(config_, value);
    if (value.is_boolean()) config_.settings.push_back({key.path, value.get<bool>()});
    if (value.is_number()) config_.settings.push_back({key.path, value.get<double>()});
    if (value.is_string()) config_.settings.push_back({key.path, value.get<std::string>()});
    if (value.is_array()) config_.settings.push_back({key.path, value.dump()});
  }

  const Json& document_;
  TrainConfig config_;
  std::vector<const ConfigKey*> seen_;
  std::vector<std::string> problems_;
};

Json type_of(const ConfigKey& key) {
  std::string type = "string";
  if (key.kind == ValueKind::integer) type = "integer";
  if (key.kind == ValueKind::number) type = "number";
  if (key.kind == ValueKind::flag) type = "boolean";
  if (key.kind == ValueKind::numbers || key.kind == ValueKind::texts) type = "array";
  return key.nullable ? Json{type, "null"} : Json(type);
}

Json names_of(const std::vector<Word>& words) {
  Json names = Json::array();
  for (const auto& word : words) names.push_back(word.name);
  return names;
}

/// A name, or a list of layers.
Json network_schema(const ConfigKey& key) {
  Json name{{"type", "string"}, {"enum", names_of(key.words)}};
  for (const auto& word : key.words) name["x-enum-descriptions"].push_back(word.summary);
  return {{"description", key.description}, {"anyOf", Json::array({name, layer_list_schema()})}};
}

/// Type and bounds.
Json value_schema(const ConfigKey& key) {
  Json schema{{"type", type_of(key)}};
  if (key.kind == ValueKind::texts)
    schema["items"] = {{"type", "string"}, {"minLength", 1}, {"x-expected", "a name"}};
  Json* bounded = &schema;
  if (key.kind == ValueKind::numbers) {
    schema["minItems"] = key.count.value_or(1);
    if (key.count) schema["maxItems"] = *key.count;
    bounded = &schema["items"];
    (*bounded)["type"] = "number";
  }
  if (key.minimum) (*bounded)["minimum"] = *key.minimum;
  if (key.above) (*bounded)["exclusiveMinimum"] = *key.above;
  if (key.below) (*bounded)["exclusiveMaximum"] = *key.below;
  return schema;
}

Json words_schema(const ConfigKey& key) {
  Json schema{{"type", type_of(key)}, {"enum", names_of(key.words)}};
  if (key.kind == ValueKind::word && key.nullable) schema["enum"].push_back(nullptr);
  for (const auto& word : key.words) schema["x-enum-descriptions"].push_back(word.summary);
  return schema;
}

Json schema_of(const ConfigKey& key) {
  if (key.kind == ValueKind::network) return network_schema(key);
  Json schema{{"description", key.description}};
  if (key.words.empty()) {
    schema.update(value_schema(key));
  } else if (key.kind == ValueKind::word) {
    schema.update(words_schema(key));
  } else {
    Json words = words_schema(key);
    words["type"] = "string";
    schema["anyOf"] = Json::array({std::move(words), value_schema(key)});
  }
  if (!key.required) schema["default"] = key.initial;
  if (!key.about_words.is_null()) schema.update(key.about_words);
  if (!key.choice.by.empty()) {
    schema["x-by"] = {
        {"key", key.choice.by}, {"defaults", key.choice.initial}, {"needed", key.choice.needed}};
  }
  return schema;
}

Json empty_block(const std::string& description) {
  Json block;
  if (!description.empty()) block["description"] = description;
  block["type"] = "object";
  block["additionalProperties"] = false;
  block["properties"] = Json::object();
  return block;
}

}  // namespace

Result<TrainConfig> parse_config(std::string_view json) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const JsonError& problem) {
    const std::string text = problem.what();
    return Error{ErrorKind::bad_request, "not JSON: " + text.substr(text.find("] ") + 2), ""};
  }
  if (!document.is_object()) {
    return Error{ErrorKind::bad_request, "the document is not a JSON object", ""};
  }
  Reader reader(document);
  reader.read_block("", document);
  reader.fill_defaults();
  reader.check_together();
  return std::move(reader).finish();
}

Result<TrainConfig> read_config(const std::filesystem::path& file) {
  const auto text = read_file_text(file.string());
  if (!text)
    return Error{ErrorKind::bad_request, text.error().what,
                 "`dllaunch run` writes it as RUN/train.json"};
  auto config = parse_config(*text);
  if (config) return config;
  Error error = std::move(config).error();
  std::string located;
  std::istringstream lines(error.what);
  for (std::string line; std::getline(lines, line);) {
    located += fmt::format("{}{}: {}", located.empty() ? "" : "\n", file.string(), line);
  }
  error.what = located;
  return error;
}

std::string describe_config() {
  Json schema = empty_block("");
  for (const auto& key : config_keys()) {
    if (key.launcher) continue;
    Json* block = &schema;
    if (const auto dot = key.path.find('.'); dot != std::string::npos) {
      const std::string name = key.path.substr(0, dot);
      Json& properties = schema["properties"];
      if (!properties.contains(name)) properties[name] = empty_block(block_description(name));
      block = &properties[name];
    }
    (*block)["properties"][last_name(key.path)] = schema_of(key);
    if (key.required) (*block)["required"].push_back(last_name(key.path));
  }
  return schema.dump(2) + "\n";
}

}  // namespace dllaunch
