#include "trainer/graph/layer_list.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dllaunch {
namespace {

enum class LayerValue { count, counts, part, flag, units };

/// counts: one number for all axes, or for volumes one per axis.
struct LayerOption {
  std::string_view name;
  LayerValue value;
  double least;
  double most;
  std::string_view meaning;
};
constexpr int largest = 1 << 20;
constexpr std::array options = {
    LayerOption{"channels", LayerValue::count, 1, largest, "channels of the output"},
    LayerOption{"units", LayerValue::units, 1, largest,
                "number of outputs; classes: the data set's number of classes"},
    LayerOption{"kernel", LayerValue::counts, 1, 4096,
                "pixels of the window along each axis; of a volume one number or [depth, height, "
                "width]"},
    LayerOption{"stride", LayerValue::counts, 1, 4096,
                "pixels from one window to the next; of a pool by default its kernel"},
    LayerOption{"padding", LayerValue::counts, 0, 4096, "zeros on all sides of the image"},
    LayerOption{"bias", LayerValue::flag, 0, 1, "adds a bias to each output channel"},
    LayerOption{"eps", LayerValue::part, 1e-12, 1, "added to the variance"},
    LayerOption{"momentum", LayerValue::part, 1e-6, 1,
                "weight of a batch in the running mean and variance"},
    LayerOption{"pixels", LayerValue::count, 1, 4096, "zeros on all sides of the image"},
    LayerOption{"rate", LayerValue::part, 0, 0.999999, "fraction of the elements that is dropped"},
    LayerOption{"vocabulary", LayerValue::count, 1, largest, "number of different tokens"},
    LayerOption{"width", LayerValue::count, 1, largest, "numbers for each token"},
    LayerOption{"positions", LayerValue::count, 0, largest,
                "the longest sequence; 0: the one it is given"},
    LayerOption{"exact", LayerValue::flag, 0, 1, "by erf, not by GPT-2's tanh"},
    LayerOption{"heads", LayerValue::count, 1, 4096, "heads that attend independently"},
    LayerOption{"causal", LayerValue::flag, 0, 1, "a token attends only to those before it"},
};

constexpr bool is_option(std::string_view name) {
  return std::ranges::find(options, name, &LayerOption::name) != options.end();
}

const LayerOption& option_named(std::string_view name) {
  return *std::ranges::find(options, name, &LayerOption::name);
}

/// The options of a layer in the job file; null means not given.
class GivenOptions {
 public:
  GivenOptions(const Json& layer, int outputs) : layer_(layer), outputs_(outputs) {}

  /// Sets `value` from a key; leaves it unchanged if the key is not given.
  void take(std::string_view name, int& value) const {
    if (at(name).is_number()) value = at(name).get<int>();
    if (at(name).is_string()) value = outputs_;  // classes
  }
  void take(std::string_view name, double& value) const {
    if (at(name).is_number()) value = at(name).get<double>();
  }
  void take(std::string_view name, bool& value) const {
    if (at(name).is_boolean()) value = at(name).get<bool>();
  }
  void take(std::string_view name, std::array<int, 3>& value) const {
    if (at(name).is_number()) value.fill(at(name).get<int>());
    if (at(name).is_array()) value = at(name).get<std::array<int, 3>>();
  }

 private:
  const Json& at(std::string_view name) const {
    static const Json absent;
    const auto found = layer_.is_object() ? layer_.find(name) : layer_.end();
    return layer_.is_object() && found != layer_.end() ? *found : absent;
  }

  const Json& layer_;
  int outputs_;
};

/// The keys of a kind of layer, and how to make its operation.
struct LayerKind {
  std::string_view name;
  LayerTraits traits;
  Operation (*make)(const GivenOptions& given);
  std::vector<std::string_view> needed = {};
  std::vector<std::pair<std::string_view, Json>> others = {};  // with their defaults
  bool volumes = false;                                        // kernels may differ along the axes
};

template <typename Kind>
Operation make(const GivenOptions& given) {
  Kind kind{};
  if constexpr (requires { Kind::keys(); }) {
    const auto take = [&](const auto& key) {
      if (key.fallback != nullptr) kind.*key.field = kind.*key.fallback;
      given.take(key.name, kind.*key.field);
    };
    std::apply([&](const auto&... keys) { (take(keys), ...); }, Kind::keys());
  }
  return kind;
}

template <typename Value>
Json shown(const Value& initial) {
  return initial;
}
Json shown(const std::array<int, 3>& initial) {
  return initial[0];  // the same for all axes
}

template <typename Kind, typename Value>
void add_key(LayerKind& row, const LayerKey<Kind, Value>& key) {
  if (key.name == "kernel") row.volumes = std::is_same_v<Value, std::array<int, 3>>;
  if (key.needed) {
    row.needed.push_back(key.name);
  } else {
    const Json initial = key.fallback != nullptr ? Json() : shown(Kind{}.*key.field);
    row.others.emplace_back(key.name, initial);
  }
}

template <typename Kind>
void add_kind(std::vector<LayerKind>& rows) {
  if constexpr (!std::is_same_v<Kind, Input>) {
    LayerKind& row = rows.emplace_back(LayerKind{Kind::name, Kind::traits, make<Kind>});
    if constexpr (requires { Kind::keys(); }) {
      static_assert(std::apply([](const auto&... keys) { return (is_option(keys.name) && ...); },
                               Kind::keys()),
                    "a key of this kind of layer has no row in `options`");
      std::apply([&](const auto&... keys) { (add_key(row, keys), ...); }, Kind::keys());
    }
  }
}

template <typename... Kinds>
std::vector<LayerKind> rows_of(const std::variant<Kinds...>&) {
  std::vector<LayerKind> rows;
  (add_kind<Kinds>(rows), ...);
  return rows;
}

const std::vector<LayerKind>& layer_kinds() {
  static const std::vector<LayerKind> kinds = rows_of(Operation());
  return kinds;
}

const LayerKind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(layer_kinds(), name, &LayerKind::name);
  return found == layer_kinds().end() ? nullptr : &*found;
}

bool has(const LayerKind& kind, std::string_view option) {
  return std::ranges::find(kind.needed, option) != kind.needed.end() ||
         std::ranges::any_of(kind.others, [&](const auto& other) { return other.first == option; });
}

Json null_or(const char* type) {
  return Json::array({type, "null"});
}

Json schema_of(const LayerOption& option) {
  Json schema;
  if (option.value == LayerValue::flag) {
    schema["type"] = null_or("boolean");
  } else if (option.value == LayerValue::part) {
    schema = {{"type", null_or("number")}, {"minimum", option.least}, {"maximum", option.most}};
  } else {
    const auto least = static_cast<int>(option.least);
    const auto most = static_cast<int>(option.most);
    const Json one = {{"type", null_or("integer")}, {"minimum", least}, {"maximum", most}};
    const Json each = {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
    schema = one;
    const Json list = {{"type", "array"},
                       {"items", each},
                       {"minItems", 3},
                       {"maxItems", 3},
                       {"x-expected", "a list of three"}};
    const Json word = {{"type", "string"}, {"enum", Json::array({"classes"})}};
    if (option.value == LayerValue::counts) schema = {{"anyOf", Json::array({one, list})}};
    if (option.value == LayerValue::units) schema = {{"anyOf", Json::array({word, one})}};
  }
  schema["description"] = option.meaning;
  schema["default"] = nullptr;
  Json defaults = Json::object();
  Json needed = Json::array();
  for (const LayerKind& kind : layer_kinds()) {
    if (!has(kind, option.name)) continue;
    defaults[std::string(kind.name)] = nullptr;
    for (const auto& [name, initial] : kind.others) {
      if (name == option.name) defaults[std::string(kind.name)] = initial;
    }
    if (std::ranges::find(kind.needed, option.name) != kind.needed.end()) {
      needed.push_back(kind.name);
    }
  }
  schema["x-by"] = {{"key", "kind"}, {"defaults", defaults}, {"needed", needed}};
  return schema;
}

bool is_name(const std::string& text) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !text.empty() && text.size() <= 100 &&
         text.find_first_not_of(letters) == std::string::npos;
}

/// Reads a list layer by layer; collects names and problems.
class LayerListParser {
 public:
  struct Named {
    const LayerKind* kind = nullptr;
    std::string name;
    std::vector<int> inputs;  // empty: the previous layer
  };

  Named read(std::size_t index, const Json& layer) {
    place_ = fmt::format("model.layers[{}]", index);
    Named named;
    const bool known = layer.is_string() ||
                       (layer.is_object() && layer.contains("kind") && layer["kind"].is_string());
    if (!known) {
      problem("must be a kind, or a block with one");
      names_["?" + std::to_string(index)] = static_cast<int>(index) + 1;
      return named;
    }
    const Json& word = layer.is_string() ? layer : layer["kind"];
    const auto kind = word.get<std::string>();
    named.kind = find_kind(kind);
    if (named.kind == nullptr) {
      std::vector<std::string_view> all;
      for (const LayerKind& one : layer_kinds()) all.push_back(one.name);
      problem(fmt::format("no kind '{}' ({})", kind, fmt::join(all, ", ")));
    }
    named.name = kind + std::to_string(++count_[kind]);
    if (layer.is_object()) read_block(layer, named);
    if (named.kind != nullptr) read_needs(layer, named);
    const bool is_new = names_.emplace(named.name, static_cast<int>(index) + 1).second;
    const bool own_name = layer.is_object() && layer.contains("name") && !layer["name"].is_null();
    if (!is_new && !own_name) {
      problem(fmt::format("another layer is called {}: give this one a name", named.name));
    }
    return named;
  }

  std::vector<std::string> problems() && { return std::move(problems_); }

 private:
  void problem(const std::string& what) { problems_.push_back(place_ + ": " + what); }

  void read_block(const Json& layer, Named& named) {
    for (const auto& [key, value] : layer.items()) {
      if (value.is_null() || key == "kind") continue;
      if (key == "name") {
        read_name(value, named);
      } else if (key == "of") {
        read_inputs(value, named);
      } else if (named.kind != nullptr && !has(*named.kind, key)) {
        problem(fmt::format("{} has no key '{}'", named.kind->name, key));
      } else if (named.kind != nullptr) {
        check(*named.kind, option_named(key), value);
      }
    }
  }

  void read_name(const Json& value, Named& named) {
    if (value.is_string() && is_name(value.get<std::string>())) {
      named.name = value.get<std::string>();
    } else {
      problem("name must be letters, digits, _, . and -, at most 100");
    }
    if (names_.contains(named.name)) problem(fmt::format("there is a {} already", named.name));
  }

  void read_inputs(const Json& value, Named& named) {
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& name : list) {
      const auto found = name.is_string() ? names_.find(name.get<std::string>()) : names_.end();
      if (found != names_.end()) {
        named.inputs.push_back(found->second);
      } else {
        problem(fmt::format("of: no layer {} before it",
                            name.dump(-1, ' ', false, Json::error_handler_t::replace)));
      }
    }
    if (list.empty() || list.size() > 2) problem("of must name one layer or two");
  }

  static std::size_t asked_for(const Json& layer) {
    if (!layer.is_object() || !layer.contains("of") || layer["of"].is_null()) return 0;
    return layer["of"].is_array() ? layer["of"].size() : 1;
  }

  void read_needs(const Json& layer, const Named& named) {
    for (const std::string_view option : named.kind->needed) {
      const std::string key(option);
      if (layer.is_object() && layer.contains(key) && !layer[key].is_null()) continue;
      problem(fmt::format("{} needs {}", named.kind->name, option));
    }
    const bool two = named.kind->traits.inputs == 2;
    const bool found_all = named.inputs.size() == asked_for(layer);
    if (two && found_all && named.inputs.size() != 2) {
      problem(fmt::format("{} needs of: [NAME, NAME]", named.kind->name));
    }
    if (!two && named.inputs.size() > 1) {
      problem(fmt::format("{} reads one layer", named.kind->name));
    }
  }

  static bool is_count(const LayerOption& option, const Json& value) {
    return value.is_number_integer() && value >= option.least && value <= option.most;
  }

  void check(const LayerKind& kind, const LayerOption& option, const Json& value) {
    bool fits = false;
    std::string wanted = fmt::format("a whole number from {} to {}", option.least, option.most);
    switch (option.value) {
      case LayerValue::flag:
        fits = value.is_boolean();
        wanted = "true or false";
        break;
      case LayerValue::part:
        fits = value.is_number() && value >= option.least && value <= option.most;
        wanted = fmt::format("a number from {} to {}", option.least, option.most);
        break;
      case LayerValue::units:
        fits = value == "classes" || is_count(option, value);
        wanted = "classes or " + wanted;
        break;
      case LayerValue::count:
        fits = is_count(option, value);
        break;
      case LayerValue::counts:
        fits = is_count(option, value);
        if (!kind.volumes) break;
        wanted += ", or a list of three";
        fits = fits ||
               (value.is_array() && value.size() == 3 &&
                std::ranges::all_of(value, [&](const Json& one) { return is_count(option, one); }));
        break;
    }
    if (fits) return;
    problem(fmt::format("{} of {} must be {}, not {}", option.name, kind.name, wanted,
                        value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }

  std::string place_;
  std::map<std::string, int> names_ = {{"input", 0}};  // -> node
  std::map<std::string, int> count_;                   // per kind
  std::vector<std::string> problems_;
};

Error refuse(const std::string& what, std::string hint = "") {
  return {ErrorKind::bad_request, "model layers: " + what, std::move(hint)};
}

}  // namespace

Json layer_list_schema() {
  Json alone = Json::array();
  Json kinds = Json::array();
  for (const LayerKind& kind : layer_kinds()) {
    kinds.push_back(kind.name);
    if (kind.needed.empty() && kind.traits.inputs == 1) alone.push_back(kind.name);
  }
  Json block;
  block["type"] = "object";
  block["additionalProperties"] = false;
  block["properties"]["kind"] = {{"type", "string"}, {"enum", kinds}};
  block["properties"]["name"] = {
      {"type", null_or("string")},
      {"default", nullptr},
      {"description", "of its parameters; by default the kind and its number, conv2d1"}};
  const Json text = {{"type", "string"}};
  block["properties"]["of"] = {
      {"anyOf",
       Json::array({{{"type", null_or("string")}},
                    {{"type", "array"}, {"items", text}, {"minItems", 1}, {"maxItems", 2}}})},
      {"default", nullptr},
      {"description", "names of the layers it reads, by default the one before; input: the image"}};
  for (const LayerOption& option : options) {
    block["properties"][std::string(option.name)] = schema_of(option);
  }
  block["required"] = Json::array({"kind"});
  const Json word = {{"type", "string"}, {"enum", alone}};
  Json schema;
  schema["type"] = "object";
  schema["additionalProperties"] = false;
  schema["properties"]["input"] = {
      {"type", "string"},
      {"enum", Json::array({"image", "volume", "tokens"})},
      {"default", "image"},
      {"description", "volume: the channels of an image are the depth of a volume; tokens: ids"}};
  schema["properties"]["layers"] = {{"type", "array"},
                                    {"minItems", 1},
                                    {"items", {{"anyOf", Json::array({word, block})}}},
                                    {"x-expected", "a list of layers"},
                                    {"description", "the network, first to last"}};
  schema["required"] = Json::array({"layers"});
  schema["x-expected"] = "{layers: [...]}";
  return schema;
}

std::vector<std::string> check_layer_list(const Json& model) {
  if (!model.is_object() || !model.contains("layers") || !model["layers"].is_array() ||
      model["layers"].empty()) {
    return {"model must be a name or {layers: [...]}"};
  }
  std::vector<std::string> problems;
  for (const auto& [key, value] : model.items()) {
    if (key == "layers") continue;
    if (key != "input") {
      problems.push_back(fmt::format("unknown key 'model.{}' (input, layers)", key));
    } else if (value != "image" && value != "volume" && value != "tokens") {
      problems.emplace_back("model.input must be image, volume or tokens");
    }
  }
  LayerListParser listing;
  for (std::size_t i = 0; i < model["layers"].size(); ++i) listing.read(i, model["layers"][i]);
  auto found = std::move(listing).problems();
  problems.insert(problems.end(), found.begin(), found.end());
  return problems;
}

Result<Graph> build_layer_list(const Json& model, const ImageShape& image, int outputs) {
  Shape input{image.channels, image.height, image.width};
  const std::string kind = model.value("input", "image");
  if (kind == "volume") input.insert(input.begin(), 1);
  if (kind == "tokens") input = {elements_of(input)};
  GraphBuilder net(listed_model, input);
  LayerListParser listing;
  std::string last;
  for (std::size_t i = 0; i < model["layers"].size(); ++i) {
    const Json& layer = model["layers"][i];
    const LayerListParser::Named named = listing.read(i, layer);
    const Operation op = named.kind->make(GivenOptions(layer, outputs));
    last = named.name;
    if (named.inputs.empty()) net.add(named.name, op);
    if (named.inputs.size() == 1) net.add(named.name, op, named.inputs[0]);
    if (named.inputs.size() == 2) net.add(named.name, op, named.inputs[0], named.inputs[1]);
  }
  auto graph = std::move(net).finish();
  if (!graph || graph->classes() == outputs) return graph;
  return refuse(fmt::format("the last layer, {}, has {} outputs, but the data set needs {}", last,
                            graph->classes(), outputs),
                "end with {kind: dense, units: classes}");
}

}  // namespace dllaunch
