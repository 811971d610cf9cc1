#include "launcher/sweep/optuna_sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// What Optuna itself answers: tests/end_to_end/sweep_optuna_test.cpp.
TEST(OptunaSampler, SaysWhatPythonLacks) {
  FakeSystem system;
  const auto none = check_optuna(system, {.sampler = "TPESampler", .optuna = true});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("sampler: {optuna: TPESampler}"));
  EXPECT_THAT(std::string(optuna_script()), HasSubstr("study.ask(space)"));
}

}  // namespace
}  // namespace dllaunch
