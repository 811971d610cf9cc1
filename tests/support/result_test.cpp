#include "support/result.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{ErrorKind::bad_request, "odd", "add one"};
  return n / 2;
}

TEST(Result, IsAValueOrAReason) {
  EXPECT_EQ(*half(4), 2);
  ASSERT_FALSE(half(3));
  EXPECT_EQ(half(3).error().what, "odd");
  EXPECT_EQ(half(3).error().hint, "add one");
}

TEST(Result, GetsAPrefixOneLevelUp) {
  const auto error = half(3).error();
  EXPECT_EQ(Error(error).within("halving").what, "halving: odd");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  ASSERT_TRUE(made);
  EXPECT_EQ(**made, 7);
  EXPECT_EQ(*(*std::move(made)), 7);
}

}  // namespace
}  // namespace dllaunch
