#include "launcher/autopsy/function_name.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace dllaunch {
namespace {

TEST(FunctionName, OfASymbol) {
  EXPECT_EQ(function_name("_ZN4gloo9allreduceERNS_16AllreduceOptionsE"), "gloo::allreduce");
  EXPECT_EQ(function_name("PMPI_Allreduce"), "PMPI_Allreduce");
  EXPECT_EQ(function_name("_Znot"), "_Znot");
  EXPECT_EQ(function_name(""), "");
}

TEST(FunctionName, HasNoParameters) {
  const std::pair<const char*, const char*> names[] = {
      {"std::vector<int>::push_back(int const&)", "std::vector<int>::push_back"},
      {"void gloo::sum<float>(void*, float (*)(int))", "gloo::sum<float>"},
      {"f(int) const [clone .part.0]", "f"},
      {"std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"},
      {"X::operator()", "X::operator()"},
      {"X::operator bool() const", "X::operator bool"},
      {"operator new(unsigned long)", "operator new"},
      {"bool operator< <int>(A<int>, A<int>)", "bool operator< <int>"},
      {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
      {"a::(anonymous namespace)::f", "a::(anonymous namespace)::f"},
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
      {"main::{lambda(int)#1}", "main::{lambda(int)#1}"},
      {"plain", "plain"},
      {"", ""},
  };
  for (const auto& [given, wanted] : names) EXPECT_EQ(without_parameters(given), wanted);
}

TEST(FunctionName, OfAnyTextIsAPartOfIt) {
  std::mt19937 random(7);
  constexpr std::string_view letters = "ab:<>()[]{} *&operator";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& letter : text) letter = letters[random() % letters.size()];
    EXPECT_NE(text.find(without_parameters(text)), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace dllaunch
