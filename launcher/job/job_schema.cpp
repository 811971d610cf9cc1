#include "launcher/job/job_schema.hpp"

#include <array>

#include "launcher/config/key_names.hpp"
#include "launcher/job/components.hpp"
#include "launcher/job/job_keys.hpp"
#include "launcher/job/short_forms.hpp"
#include "launcher/job/train_schema.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// The block that holds the key `path`, and the key's last part.
std::pair<Json*, std::string> find_place(Json& schema, const std::string& path) {
  Json* block = &schema;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    block = &(*block)["properties"][path.substr(begin, dot - begin)];
    begin = dot + 1;
  }
  return {block, path.substr(begin)};
}

void add_key(Json& schema, const JobKey& key) {
  const auto [block, name] = find_place(schema, key.path);
  Json& place = (*block)["properties"][name];
  place["description"] = key.doc;
  place.update(key.rules);
  const bool is_block = key.rules.value("type", Json()) == Json::array({"object", "null"}) &&
                        !key.rules.contains("additionalProperties");
  if (is_block) {
    place["additionalProperties"] = false;
    place["properties"] = Json::object();
  } else if (!key.from_file) {
    place["default"] = key.initial;
  }
  if (!key.example.is_null()) place["examples"] = Json::array({key.example});
}

/// A block whose keys are all commented out is null in YAML; treat it as absent.
void allow_empty_blocks(Json& schema) {
  if (!schema.contains("properties")) return;
  schema["type"] = Json::array({"object", "null"});
  for (auto& [name, property] : schema["properties"].items()) allow_empty_blocks(property);
}

Json train_block() {
  Json schema = train_schema();
  allow_empty_blocks(schema);
  schema["description"] = "the built-in trainer: a model and how to train it";
  schema["default"] = nullptr;
  return schema;
}

/// Requires `name`; `other` and `components` must be missing or null.
Json only(const char* name, Json types, const char* other) {
  return {{"required", Json::array({name})},
          {"properties",
           {{name, {{"type", std::move(types)}}},
            {other, {{"type", "null"}}},
            {"components", {{"type", "null"}}}}}};
}

Json only_components() {
  return {{"required", Json::array({"components"})},
          {"properties", {{"components", {{"type", "array"}}}}}};
}

/// A block that may be one word or a list: the value of its key `means`.
struct ShortBlock {
  const char* path;
  const char* type;
  const char* means;
};

constexpr std::array<ShortBlock, 7> short_blocks = {{
    {"resources.memory", "string", "per_node"},
    {"resources.switches", "integer", "count"},
    {"environment", "array", "variables"},
    {"environment.container", "string", "image"},
    {"train.dataset", "string", "kind"},
    {"train.optimizer", "string", "name"},
    {"train.lr_schedule", "string", "decay"},
}};

void allow_short_forms(Json& schema) {
  for (const auto& [path, type, means] : short_blocks) {
    const auto [parent, name] = find_place(schema, path);
    Json& block = (*parent)["properties"][name];
    Json rules = block["properties"][means];
    for (const char* said : {"description", "default", "examples"}) rules.erase(said);
    block["type"].push_back(type);
    block[short_keyword] = means;
    block["if"] = {{"type", type}};
    block["then"] = std::move(rules);
  }
}

/// A word of Slurm, submitit, SkyPilot or torchrun, and the key for it.
struct OtherWord {
  const char* word;
  const char* path;
};

constexpr std::array<OtherWord, 38> other_words = {{
    {"job_name", "name"},
    {"num_nodes", "resources.nodes"},
    {"nnodes", "resources.nodes"},
    {"accelerators", "resources.gpus_per_node"},
    {"num_gpus", "resources.gpus"},
    {"gpu", "resources.gpus"},
    {"ntasks_per_node", "resources.ranks_per_node"},
    {"tasks_per_node", "resources.ranks_per_node"},
    {"nproc_per_node", "resources.ranks_per_node"},
    {"procs_per_node", "resources.ranks_per_node"},
    {"cpus_per_task", "resources.cpus_per_rank"},
    {"walltime", "resources.time"},
    {"time_limit", "resources.time"},
    {"timeout", "resources.time"},
    {"timeout_min", "resources.time"},
    {"mem", "resources.memory"},
    {"queue", "resources.partition"},
    {"project", "resources.account"},
    {"dependency", "after"},
    {"depends_on", "after"},
    {"env", "environment.variables"},
    {"envs", "environment.variables"},
    {"env_vars", "environment.variables"},
    {"venv", "environment.activate"},
    {"virtualenv", "environment.activate"},
    {"conda", "environment.activate"},
    {"conda_env", "environment.activate"},
    {"docker_image", "environment.container.image"},
    {"image_id", "environment.container.image"},
    {"command", "run"},
    {"cmd", "run"},
    {"script", "run"},
    {"entrypoint", "run"},
    {"program", "run"},
    {"exec", "run"},
    {"training", "train"},
    {"max_retries", "recovery.max_restarts"},
    {"retries", "recovery.max_restarts"},
}};

void add_other_words(Json& schema) {
  for (const auto& [word, path] : other_words) {
    const auto [parent, name] = find_place(schema, path);
    (*parent)["properties"][name][also_keyword].push_back(word);
  }
}

Json compose() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "dllaunch job file"},
                 {"description", "one deep-learning job: `dllaunch FILE` runs it"},
                 {"type", "object"},
                 {"additionalProperties", false},
                 {"oneOf", Json::array({only("train", "object", "run"),
                                        only("run", Json::array({"string", "array"}), "train"),
                                        only_components()})},
                 {"properties", Json::object()}};
  for (const JobKey& key : job_keys()) {
    // Put the two alternatives next to each other.
    if (key.path == "run") schema["properties"]["train"] = train_block();
    add_key(schema, key);
  }
  allow_short_forms(schema);
  add_other_words(schema);
  schema["properties"]["components"]["items"] = component_schema(schema);
  return schema;
}

}  // namespace

const Json& job_schema() {
  static const Json schema = compose();
  return schema;
}

}  // namespace dllaunch
