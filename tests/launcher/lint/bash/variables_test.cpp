#include "launcher/lint/bash/variables.hpp"

#include <gtest/gtest.h>

namespace dllaunch::lint {
namespace {

ValuePtr value_of(const std::string& text) {
  auto value = std::make_shared<Value>();
  value->text = Text(text, 0);
  return value;
}

TEST(LintVariables, GoBackToWhatTheyWere) {
  Variables variables;
  variables.set("A", value_of("1"));
  const auto mark = variables.mark();
  variables.set("A", value_of("2"));
  variables.set("B", value_of("3"));
  EXPECT_EQ(variables.changes_since(mark).size(), 2u);
  variables.roll_back(mark);
  EXPECT_EQ(variables.find("A")->text.bytes(), "1");
  EXPECT_EQ(variables.find("B"), nullptr);
}

TEST(LintVariables, AreKnownWhereAllWaysAgree) {
  Variables variables;
  variables.set("same", value_of("0"));
  variables.join({{{"same", value_of("1")}, {"other", value_of("1")}},
                  {{"same", value_of("1")}, {"other", value_of("2")}}});
  EXPECT_EQ(variables.find("same")->text.bytes(), "1");
  EXPECT_FALSE(variables.find("other")->text.known());
  variables.join({{{"same", value_of("2")}}, {}});
  EXPECT_FALSE(variables.find("same")->text.known());
}

}  // namespace
}  // namespace dllaunch::lint
