#include "launcher/config/key_names.hpp"

#include <gtest/gtest.h>

#include "launcher/config/schema_walk.hpp"

namespace dllaunch {
namespace {

const Json schema = Json::parse(R"({
  "type": "object", "additionalProperties": false, "required": ["need"],
  "properties": {
    "need": {"type": "string", "x-also": ["wanted"]},
    "count": {"type": "integer", "default": 3},
    "forms": {"anyOf": [{"type": "string"},
                        {"type": "object", "additionalProperties": false, "required": ["kind"],
                         "properties": {"kind": {"type": "integer"}}}], "default": "a"},
    "list": {"type": "array", "default": [],
             "items": {"type": "object", "properties": {"side": {"type": "integer", "default": 0}}}
            },
    "block": {"type": "object", "additionalProperties": false,
              "properties": {"flag": {"type": "boolean", "default": true, "x-also": ["switch_it"]},
                             "words": {"type": "string", "default": ""}}},
    "names": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
    "nodes": {"type": "object", "default": {}, "additionalProperties": {
                "type": "object", "properties": {"cores": {"type": "integer", "default": 0}}}}
  }})");

/// The problems of the keys, then those that the schema finds after the correction.
std::string problems_of(const std::string& yaml) {
  const auto document = parse_yaml(yaml, 0);
  std::string text;
  for (const auto& problem : correct_keys(schema, *document.root)) text += problem.message + "\n";
  SchemaWalk walk;
  walk.complete(schema, *document.root);
  for (const auto& problem : std::move(walk).problems()) text += "then: " + problem.message + "\n";
  return text;
}

TEST(KeyNames, SayWhatWasProbablyMeant) {
  EXPECT_EQ(problems_of("{need: a, cuont: 1}"), "unknown key 'cuont'; did you mean 'count'?\n");
  EXPECT_EQ(problems_of("{need: a, flag: true}"), "unknown key 'flag'; it belongs under 'block'\n");
  EXPECT_EQ(problems_of("{need: a, block: {count: 1}}"),
            "unknown key 'count'; it belongs to the top of the file\n");
  EXPECT_EQ(problems_of("{need: a, block: {zzz: 1}}"),
            "unknown key 'zzz'; keys here: flag, words\n");
  EXPECT_EQ(problems_of("{need: a, list: [{sidf: 1}]}"),
            "unknown key 'sidf'; did you mean 'side'?\n");
}

TEST(KeyNames, KnowTheWordsOfOtherTools) {
  EXPECT_EQ(problems_of("{need: a, Switch-It: true}"),
            "unknown key 'Switch-It'; did you mean 'block.flag'?\n");
  EXPECT_EQ(problems_of("{need: a, block: {switch_it: true}}"),
            "unknown key 'switch_it'; did you mean 'flag'?\n");
}

TEST(KeyNames, AMistypedKeyHasNoConsequence) {
  EXPECT_EQ(problems_of("{nede: a}"), "unknown key 'nede'; did you mean 'need'?\n");
  EXPECT_EQ(problems_of("{wanted: a}"), "unknown key 'wanted'; did you mean 'need'?\n");
  EXPECT_EQ(problems_of("{block: {need: a}}"),
            "unknown key 'need'; it belongs to the top of the file\n");
  EXPECT_EQ(problems_of("{need: a, forms: {kind_: 1}}"),
            "unknown key 'kind_'; did you mean 'kind'?\n");
}

TEST(KeyNames, TheValueOfAMistypedKeyIsStillJudged) {
  EXPECT_EQ(problems_of("{need: a, cuont: x}"),
            "unknown key 'cuont'; did you mean 'count'?\n"
            "then: count must be a whole number, got 'x'\n");
  EXPECT_EQ(problems_of("{need: a, switch_it: 3, block: {words: b}}"),
            "unknown key 'switch_it'; did you mean 'block.flag'?\n"
            "then: block.flag must be true or false, got '3'\n");
}

TEST(KeyNames, WhatIsGivenUnderItsOwnNameCounts) {
  EXPECT_EQ(problems_of("{cuont: x, need: a, count: 1}"),
            "unknown key 'cuont'; did you mean 'count'?\n");
  EXPECT_EQ(problems_of("{need: a, flag: 3, block: {flag: true}}"),
            "unknown key 'flag'; it belongs under 'block'\n");
}

TEST(KeyNames, AnOpenBlockTakesAnyName) {
  EXPECT_EQ(problems_of("{need: a, names: {count: a, zzz: b}}"), "");
  EXPECT_EQ(problems_of("{need: a, nodes: {one: {coresz: 1}}}"),
            "unknown key 'coresz'; did you mean 'cores'?\n");
}

TEST(KeyNames, AnAliasIsCorrectedToo) {
  EXPECT_EQ(problems_of("{need: a, list: [&one {sidf: 1}, *one]}"),
            "unknown key 'sidf'; did you mean 'side'?\nunknown key 'sidf'; did you mean 'side'?\n");
}

}  // namespace
}  // namespace dllaunch
