#include <fmt/core.h>

#include "launcher/config/schema_scalar.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/job/short_forms.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view head = R"(# The job file

One YAML file is one job: `dllaunch FILE.yaml` runs it, `dllaunch validate FILE.yaml` checks it.
`--set key.path=value` overrides one key. Every key but `name` has a default; a job has exactly one
of `train:` and `run:`. The YAML is version 1.2: `00:30:00` and `yes` are text.

Some keys have a short form: `time: 2h`, `memory: 64GB`, `gpus: 8`, `optimizer: adam`, `dataset:
cifar10`, `environment: [NAME=VALUE]`, and `run: torchrun --nproc_per_node=4 train.py`. Each stands
for a full form, which `dllaunch plan` and the run directory's job.yaml show.

This page is what `dllaunch schema --markdown` prints; `dllaunch schema` prints the same as a JSON
Schema for editors.
)";

bool is_block(const Json& schema) {
  return schema.contains("properties");
}

/// Backends differ between builds; the page must not.
constexpr std::string_view of_this_build = "backend";

/// A vertical bar would end the table cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char letter : text)
    escaped += letter == '|' ? std::string("\\|") : std::string{letter};
  return escaped;
}

std::string in_yaml(const Json& value) {
  if (value.is_string()) {
    const std::string text = value;
    return text.find_first_of(" :,[]{}") == std::string::npos ? text : value.dump();
  }
  return value.dump();
}

std::string value_of(const std::string& name, const Json& schema) {
  return name == of_this_build ? "auto or a name" : describe(schema);
}

std::string default_of(const std::string& name, const Json& schema, const Json& owner) {
  const Json required = owner.value("required", Json::array());
  for (const Json& word : required) {
    if (word == name) return "required";
  }
  const auto initial = schema.find("default");
  if (initial == schema.end() || initial->is_null()) return "";
  return "`" + in_yaml(*initial) + "`";
}

std::string meaning_of(const std::string& name, const Json& schema) {
  std::string text = schema.value("description", "");
  if (name == of_this_build) return text + "; `dllaunch info` lists those of a build";
  const Json& named = schema.contains("anyOf") ? schema["anyOf"][0] : schema;
  const Json choices = named.value("enum", Json::array());
  const Json said = named.value("x-enum-descriptions", Json::array());
  for (std::size_t i = 0; i < said.size() && i < choices.size(); ++i) {
    if (said[i] == "") continue;
    text += fmt::format("{}`{}`: {}", i == 0 ? ". " : "; ", choices[i].get<std::string>(),
                        said[i].get<std::string>());
  }
  for (const Json& example : schema.value("examples", Json::array())) {
    text += fmt::format(" (e.g. `{}`)", in_yaml(example));
  }
  return text;
}

std::string render_keys(const Json& block) {
  std::string text = "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const auto& [name, schema] : block["properties"].items()) {
    if (is_block(schema)) continue;
    text += fmt::format("| `{}` | {} | {} | {} |\n", name, cell(value_of(name, schema)),
                        cell(default_of(name, schema, block)), cell(meaning_of(name, schema)));
  }
  return text;
}

std::string render_blocks(const Json& block, const std::string& path, int level) {
  std::string text;
  for (const auto& [name, schema] : block["properties"].items()) {
    if (!is_block(schema)) continue;
    const std::string inner = path + name + ".";
    text += fmt::format("\n{} `{}{}:`\n", std::string(static_cast<std::size_t>(level), '#'), path,
                        name);
    const std::string description = schema.value("description", "");
    if (!description.empty()) text += "\n" + description + "\n";
    if (const auto means = schema.value(short_keyword, ""); !means.empty())
      text += fmt::format("\nShort form: `{}: {}` sets `{}`.\n", name,
                          schema["if"]["type"] == "array" ? "[NAME=VALUE, ...]" : "WORD", means);
    text += render_keys(schema) + render_blocks(schema, inner, level + 1);
  }
  return text;
}

}  // namespace

std::string render_schema_markdown() {
  const Json& schema = job_schema();
  return std::string(head) + "\n## Top level\n" + render_keys(schema) +
         render_blocks(schema, "", 2);
}

}  // namespace dllaunch
