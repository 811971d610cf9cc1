#include "launcher/job/key_rules.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/job/short_values.hpp"

namespace dllaunch {
namespace {

// Patterns of what ECMAScript (JSON Schema) and POSIX (this parser) share.
constexpr const char* time_pattern =
    "^([0-9]+|[0-9]+:[0-5]?[0-9]|[0-9]+:[0-5]?[0-9]:[0-5]?[0-9]|"
    "[0-9]+-[0-9]+(:[0-5]?[0-9](:[0-5]?[0-9])?)?|{})$";
constexpr const char* one_line_pattern = "^[^\x01-\x1f\x7f]+$";

}  // namespace

Json choices(std::initializer_list<const char*> all) {
  Json names = Json::array();
  for (const char* word : all) names.push_back(word);
  return {{"type", "string"}, {"enum", names}};
}

Json whole(int minimum, int maximum) {
  return {{"type", "integer"}, {"minimum", minimum}, {"maximum", maximum}};
}

Json automatic_or(Json rules) {
  const Json automatic = {{"type", "string"}, {"enum", Json::array({"auto"})}};
  return {{"anyOf", Json::array({automatic, std::move(rules)})}};
}

Json flag() {
  return {{"type", "boolean"}};
}
Json block() {
  return {{"type", Json::array({"object", "null"})}};
}

Json line() {
  return {{"type", "string"},
          {"maxLength", 4096},
          {"pattern", one_line_pattern},
          {"x-expected", "text of one line"}};
}

Json optional_line() {
  Json rules = line();
  rules["type"] = Json::array({"string", "null"});
  return rules;
}

Json slurm_duration() {
  return {{"type", Json::array({"string", "integer", "null"})},
          {"minimum", 0},
          {"pattern", fmt::format(fmt::runtime(time_pattern), short_time_pattern)},
          {"x-expected",
           "a time such as 30m, 2h or 1d12h, or as Slurm writes it: minutes, MM:SS, "
           "HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"}};
}

Json lines(Json items, const char* expected) {
  return {{"type", "array"}, {"items", std::move(items)}, {"x-expected", expected}};
}

Json argument() {
  return {{"type", Json::array({"string", "number", "boolean"})},
          {"maxLength", 65536},
          {"x-expected", "text or a number"}};
}

}  // namespace dllaunch
