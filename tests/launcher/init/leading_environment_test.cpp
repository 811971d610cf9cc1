#include "launcher/init/leading_environment.hpp"

#include <gmock/gmock.h>

#include "launcher/init/script_words.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

/// And the rest of the script. Commands that assign MEET are passed.
std::pair<LeadingEnvironment, std::string> read(const std::string& text) {
  const auto tree = lint::read_shell(text);
  std::vector<const lint::Node*> commands;
  std::vector<const lint::Node*> passed;
  for (const auto& node : tree.root.children) {
    commands.push_back(&node);
    if (!node.assignments.empty() && node.assignments[0].name == "MEET") passed.push_back(&node);
  }
  auto found = read_leading_environment(text, 0, commands, passed);
  const auto rest = lines_without(text, found.end, text.size(), found.in_rest);
  found.in_rest.clear();  // the tree ends here
  return {std::move(found), rest};
}

TEST(LeadingEnvironment, PassesWhatStays) {
  const auto [found, rest] =
      read("module load a\nMEET=$(hostname)\n# of NCCL\nexport X=1  # on\nexport Y=2; cd src\n");
  EXPECT_THAT(found.variables, ElementsAre(std::pair("X", "1")));
  EXPECT_EQ(rest, "\nMEET=$(hostname)\n# of NCCL\nexport Y=2; cd src\n");
}

TEST(LeadingEnvironment, TakesWhatTheKeysMean) {
  const auto [found, rest] = read(
      "module purge\nmodule load a b/1\nexport X=1 Y='two words'\nsource ~/venv/bin/activate\n"
      "export Z=3\ncd src\nmodule load c\n");
  EXPECT_THAT(found.modules, ElementsAre("a", "b/1"));
  EXPECT_EQ(found.activate, "~/venv");
  EXPECT_THAT(found.variables,
              ElementsAre(std::pair("X", "1"), std::pair("Y", "two words"), std::pair("Z", "3")));
  EXPECT_EQ(rest, "\ncd src\nmodule load c\n");
}

TEST(LeadingEnvironment, KnowsAVenvByItsFile) {
  EXPECT_EQ(read(". /opt/v/bin/activate\ntrue\n").first.activate, "/opt/v");
  EXPECT_EQ(read(". 'a b/bin/activate'\ntrue\n").first.activate, "a b");
  for (const char* other :
       {"source activate env", "source $V/bin/activate", "conda activate env",
        "source /opt/conda/bin/activate", "source /opt/bin/activate\nconda activate env",
        "source '~/v/bin/activate'", "source v*/bin/activate", "source env.sh"})
    EXPECT_EQ(read(std::string(other) + "\ntrue\n").first.end, 0u) << other;
}

/// dllaunch loads modules, activates, and then sets variables.
TEST(LeadingEnvironment, StopsWhereTheOrderMatters) {
  EXPECT_EQ(read(". v/bin/activate\nmodule load a\n").second, "\nmodule load a\n");
  EXPECT_EQ(read(". v/bin/activate\n. w/bin/activate\n").second, "\n. w/bin/activate\n");
  EXPECT_EQ(read("export PATH=/a\n. v/bin/activate\n").second, "\n. v/bin/activate\n");
  for (const char* command : {"export A=$B", "export A=~/x", "module load $M", "module use /x",
                              "A=1", "export -p", "module load a > log", "module load a &"})
    EXPECT_EQ(read(std::string(command) + "\ntrue\n").first.end, 0u) << command;
}

}  // namespace
}  // namespace dllaunch
