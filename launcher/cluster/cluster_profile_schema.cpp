
#include "launcher/base/time_span.hpp"
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/network/profile_network.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr const char* name_pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
constexpr const char* one_line_pattern = "^[^\x01-\x1f\x7f]+$";
constexpr const char* maybe_empty_pattern = "^[^\x01-\x1f\x7f]*$";

Json line(const char* expected = "text of one line") {
  return {{"type", "string"},
          {"maxLength", 4096},
          {"pattern", one_line_pattern},
          {"x-expected", expected}};
}

Json with_default(Json rules, Json value) {
  if (value == "" && rules["pattern"] == one_line_pattern) rules["pattern"] = maybe_empty_pattern;
  rules["default"] = std::move(value);
  return rules;
}

Json name() {
  Json rules = line("a name of letters, digits, '.', '_' and '-'");
  rules["maxLength"] = 100;
  rules["pattern"] = name_pattern;
  return rules;
}

Json choices(std::initializer_list<const char*> all, const char* otherwise) {
  Json names = Json::array();
  for (const char* word : all) names.push_back(word);
  return {{"type", "string"}, {"enum", names}, {"default", otherwise}};
}

Json whole(int minimum, int maximum) {
  return {{"type", "integer"}, {"minimum", minimum}, {"maximum", maximum}};
}

Json flag() {
  return {{"type", "boolean"}, {"default", false}};
}

Json list(Json items, const char* expected) {
  return {{"type", "array"},
          {"items", std::move(items)},
          {"x-expected", expected},
          {"default", Json::array()}};
}

Json block(Json properties, Json required = Json::array()) {
  Json rules = {{"type", Json::array({"object", "null"})},
                {"additionalProperties", false},
                {"properties", std::move(properties)}};
  if (!required.empty()) rules["required"] = std::move(required);
  return rules;
}

Json map_of(Json values, const char* pattern, const char* expected) {
  return {{"type", Json::array({"object", "null"})},
          {"additionalProperties", std::move(values)},
          {"propertyNames", {{"pattern", pattern}, {"x-expected", expected}}},
          {"default", Json::object()}};
}

Json variables() {
  return map_of({{"type", Json::array({"string", "number", "boolean"})},
                 {"maxLength", 4096},
                 {"pattern", one_line_pattern},
                 {"x-expected", "text of one line or a number"}},
                "^[A-Za-z_][A-Za-z0-9_]*$", "a variable's name");
}

/// CPUs by number, "0-7,64-71".
Json cpus() {
  return {{"type", Json::array({"string", "integer"})},
          {"minimum", 0},
          {"pattern", "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"},
          {"x-expected", "a list of CPUs such as 0-7,64-71"}};
}

Json absolute_path() {
  Json rules = line("an absolute path");
  rules["pattern"] = "^(/[^\x01-\x1f\x7f]*)?$";
  rules["default"] = "";
  return rules;
}

Json device_address() {
  Json rules = line("a PCI address such as c1:00.0");
  rules["pattern"] = "^([0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}[.][0-7]$";
  return with_default(rules, "");
}

Json node_type() {
  const Json gpu = block({{"pci", device_address()}, {"near", cpus()}}, Json::array({"near"}));
  const Json nic = block({{"name", name()},
                          {"pci", device_address()},
                          {"near", cpus()},
                          {"fabric", {{"type", "boolean"}, {"default", true}}}},
                         Json::array({"name", "near"}));
  const auto count = [](int otherwise) {
    Json rules = whole(1, 4096);
    rules["default"] = otherwise;
    return rules;
  };
  Json reserve = line("none, first-core-per-l3 or a list of CPUs");
  reserve["type"] = Json::array({"string", "integer"});
  reserve["minimum"] = 0;
  reserve["pattern"] = "^(none|first-core-per-l3|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)$";
  return block({{"packages", count(1)},
                {"numa", count(1)},
                {"l3", count(1)},
                {"cores", whole(1, 4096)},
                {"threads", count(1)},
                {"threads_of_a_core", choices({"apart", "together"}, "apart")},
                {"numa_numbers", list(whole(0, 65535), "a list of numbers")},
                {"memory_gib", with_default(whole(1, 65536), 1)},
                {"reserve", with_default(reserve, "none")},
                {"assumed", flag()},
                {"features", list(line(), "a list of Slurm's features")},
                {"constraint", with_default(line(), "")},
                {"gpu_type", with_default(line(), "")},
                {"gpu_name", with_default(line(), "")},
                {"gpu_vendor", choices({"nvidia", "amd", "intel", "other"}, "nvidia")},
                {"gpus", list(gpu, "a list of GPUs")},
                {"nics", list(nic, "a list of network adapters")}},
               Json::array({"cores"}));
}

Json partition() {
  Json time = {{"type", Json::array({"string", "integer", "null"})},
               {"minimum", 0},
               {"pattern", "^[0-9][0-9:-]*$"},
               {"x-expected", "a time as Slurm writes it, such as 2-00:00:00"},
               {"default", nullptr}};
  return block({{"name", name()},
                {"node", name()},
                {"nodes", whole(1, 1'000'000)},
                {"default", flag()},
                {"by_constraint", flag()},
                {"max_time", time}},
               Json::array({"name", "node", "nodes"}));
}

/// How often nodes fail.
Json failures() {
  const Json span = {{"type", Json::array({"string", "null"})},
                     {"maxLength", 100},
                     {"pattern", time_span_pattern},
                     {"x-expected", "a time such as 300d or 36h"},
                     {"default", nullptr}};
  return block({{"node_mtbf", span},
                {"repair", span},
                {"uneven", {{"type", "number"}, {"minimum", 0}, {"maximum", 10}, {"default", 0}}}});
}

Json make_schema() {
  const Json recognise = block({{"clusters", list(line(), "a list of patterns")},
                                {"hosts", list(line(), "a list of patterns")},
                                {"partitions", list(line(), "a list of names")}});
  const Json container =
      block({{"runtime", choices({"", "apptainer", "singularity", "enroot"}, "")},
             {"mounts", list(line(), "a list of mounts")}});
  const Json argument = {{"type", Json::array({"string", "number", "boolean"})},
                         {"maxLength", 4096},
                         {"pattern", one_line_pattern},
                         {"x-expected", "an option"}};
  return block(
      {{"name", name()},
       {"title", with_default(line(), "")},
       {"scheduler", choices({"slurm", "pbs", "lsf", "cobalt"}, "slurm")},
       {"start", with_default(line(), "")},
       {"sources", map_of(line(), name_pattern, "a short name")},
       {"unverified", map_of(line(), "^[^\x01-\x1f\x7f]+$", "a key of this file")},
       {"recognise", recognise},
       {"node_types", map_of(node_type(), name_pattern, "a name")},
       {"partitions", list(partition(), "a list of partitions")},
       {"cpus_are", choices({"threads", "cores"}, "threads")},
       {"modules", list(line(), "a list of modules")},
       {"suggested_modules", map_of(list(line(), "a list of modules"),
                                    "^(none|pytorch|tensorflow|horovod|jax|deepspeed|mpi)$",
                                    "a framework, or none for programs without")},
       {"variables", variables()},
       {"node_folders", variables()},
       {"mpi", with_default(line(), "")},
       {"host_suffix", with_default(line(), "")},
       {"container", container},
       {"sbatch_extra", list(argument, "a list of options")},
       {"srun_extra", list(argument, "a list of options")},
       {"node_book", absolute_path()},
       {"network", profile_network_schema()},
       {"failures", failures()}},
      Json::array({"name"}));
}

}  // namespace

const Json& cluster_profile_schema() {
  static const Json schema = make_schema();
  return schema;
}

}  // namespace dllaunch
