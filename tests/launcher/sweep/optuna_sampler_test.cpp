#include "launcher/sweep/optuna_sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

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

/// A python3 of its own, which takes the journal's lock as Optuna does and dies.
class DyingPython : public FakeSystem {
 public:
  DyingPython() {
    std::ofstream(script_) << "#!/bin/sh\nln -s \"$4\" \"$4.lock\" && kill -9 $$\n";
    chmod(script_.c_str(), 0700);
  }
  std::optional<std::string> find_program(std::string_view) override { return script_; }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  const TemporaryFolder folder_;
  const std::string script_ = folder_.path() + "/python3";
};

TEST(OptunaSampler, ThatWasKilledLeavesNoLockWhateverBytesTheJournalsPathHas) {
  DyingPython system;
  const auto journal = system.path("\xff.journal");
  const auto has_lock = [&] { return std::filesystem::is_symlink(journal + ".lock"); };
  {
    auto asked = OptunaAsk::start(system, journal, "job", {}, {.sampler = "TPESampler"}, 0);
    ASSERT_TRUE(asked) << asked.error().what;
    auto answer = asked->poll();
    for (; !answer; answer = asked->poll())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_FALSE(*answer);
    EXPECT_THAT(answer->error().what, HasSubstr("python3 ended with 137"));
    EXPECT_TRUE(has_lock());
  }
  EXPECT_FALSE(has_lock());
}

}  // namespace
}  // namespace dllaunch
