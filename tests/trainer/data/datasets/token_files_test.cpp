#include "trainer/data/datasets/token_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TokenFilesOf : public testing::Test {
 protected:
  void make(const std::vector<std::string>& names) const {
    for (const auto& name : names) write_text(folder_ / name, "ab");
  }
  std::vector<std::string> names(const std::string& path, bool validation) const {
    auto found = find_token_files((folder_ / path).string());
    if (!found) return {found.error().what};
    std::vector<std::string> names;
    for (const auto& file : validation ? found->validation : found->train) {
      names.push_back(file.lexically_relative(folder_.path()).string());
    }
    return names;
  }
  std::vector<std::string> train(const std::string& path) const { return names(path, false); }
  std::vector<std::string> validation(const std::string& path) const { return names(path, true); }

  ScratchFolder folder_;
};

TEST_F(TokenFilesOf, NanoGptsFolder) {
  make({"train.bin", "val.bin", "meta.pkl", "prepare.py", "input.txt", "other.bin"});
  EXPECT_THAT(train(""), ElementsAre("train.bin"));
  EXPECT_THAT(validation(""), ElementsAre("val.bin"));
  EXPECT_THAT(train("train.bin"), ElementsAre("train.bin"));
  EXPECT_THAT(validation("train.bin"), ElementsAre("val.bin"));
  EXPECT_THAT(train("other.bin"), ElementsAre("other.bin"));
  EXPECT_THAT(validation("other.bin"), IsEmpty());
}

TEST_F(TokenFilesOf, LlmCsShards) {
  make({"fineweb_val_000000.bin", "fineweb_train_000002.bin", "fineweb_train_000001.bin",
        "tiny_shakespeare_train.bin", "tiny_shakespeare_val.bin", "fineweb_train_000003.bin.part"});
  EXPECT_THAT(train(""), ElementsAre("fineweb_train_000001.bin", "fineweb_train_000002.bin",
                                     "tiny_shakespeare_train.bin"));
  EXPECT_THAT(validation(""), ElementsAre("fineweb_val_000000.bin", "tiny_shakespeare_val.bin"));
  EXPECT_THAT(train("fineweb_train_*.bin"),
              ElementsAre("fineweb_train_000001.bin", "fineweb_train_000002.bin"));
  EXPECT_THAT(validation("fineweb_train_*.bin"), ElementsAre("fineweb_val_000000.bin"));
  EXPECT_THAT(train("fineweb_*.bin"),
              ElementsAre("fineweb_train_000001.bin", "fineweb_train_000002.bin"));
  EXPECT_THAT(train("fineweb_train_000002.bin"), ElementsAre("fineweb_train_000002.bin"));
  EXPECT_THAT(validation("tiny_shakespeare_train.bin"), ElementsAre("tiny_shakespeare_val.bin"));
}

TEST_F(TokenFilesOf, AFileThatIsNamedIsTrainedOnWhateverItsName) {
  make({"my-val.bin", "[1]train.bin", "val.bin"});
  EXPECT_THAT(train("my-val.bin"), ElementsAre("my-val.bin"));
  EXPECT_THAT(validation("my-val.bin"), IsEmpty());
  EXPECT_THAT(train("[1]train.bin"), ElementsAre("[1]train.bin"));
}

TEST_F(TokenFilesOf, SaysWhatIsMissing) {
  make({"a/notes.txt", "a/words_train.txt"});
  EXPECT_THAT(train("a"), ElementsAre(HasSubstr("a: holds no training shard")));
  EXPECT_THAT(train("a/x_train_*.bin"), ElementsAre(HasSubstr("x_train_*.bin: no such file")));
  EXPECT_THAT(train("b/train.bin"), ElementsAre(HasSubstr("No such file or directory")));
  EXPECT_EQ(find_token_files("").error().what, "dataset.path is missing");
  EXPECT_TRUE(is_file_pattern("a/b_*.bin"));
  EXPECT_FALSE(is_file_pattern("a*/b.bin"));
}

}  // namespace
}  // namespace dllaunch
