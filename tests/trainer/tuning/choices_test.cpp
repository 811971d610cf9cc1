#include "trainer/tuning/choices.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

TEST(ChoicesFile, IsReadAsItWasWritten) {
  const ScratchFolder folder;
  EXPECT_EQ(read_choices(folder.path())->batch_size, std::nullopt);
  ASSERT_TRUE(write_choices(folder.path(), {.batch_size = 256, .lr = 0.032}));
  const auto read = read_choices(folder.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->batch_size, 256);
  EXPECT_EQ(read->lr, 0.032);
  ASSERT_TRUE(write_choices(folder.path(), {.lr = 0.1}));
  EXPECT_EQ(read_choices(folder.path())->batch_size, std::nullopt);
}

TEST(ChoicesFile, ReportsDamage) {
  const ScratchFolder folder;
  for (const std::string text :
       {"", "{", "[]", R"({"batch_size": 0})", R"({"batch_size": 1.5})", R"({"batch_size": 1e12})",
        R"({"optimizer.lr": -1})", R"({"optimizer.lr": "0.1"})", R"({"optimizer.lr": 1e999})"}) {
    write_text(folder / "choices.json", text);
    const auto read = read_choices(folder.path());
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_request);
    EXPECT_NE(read.error().hint, "");
  }
}

TEST(ChoicesFile, AnyBytesAreAChoiceOrAnError) {
  const ScratchFolder folder;
  const std::string sound = R"({"batch_size":256,"optimizer.lr":0.032})";
  for (std::uint64_t i = 0; i < 500; ++i) {
    write_text(folder / "choices.json", mutated(sound, i));
    const auto read = read_choices(folder.path());
    if (!read) continue;
    EXPECT_TRUE(!read->batch_size || *read->batch_size >= 1);
    EXPECT_TRUE(!read->lr || *read->lr > 0);
  }
}

}  // namespace
}  // namespace dllaunch
