#include "launcher/compare/compare_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/compare/compared_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CompareText, IsTablesAndNotes) {
  auto other = trained("b", 16, 3);
  other.origin->left_out = {"HF_TOKEN"};
  other.notes = {"its job file cannot be read"};
  other.job["train"]["model"] = std::string(500, 'm');
  const auto text = render_comparison(
      compare_runs({trained("a", 8, 4), other}, {{.query = "c", .why = "no such run"}}, {}));
  EXPECT_THAT(render_comparison(compare_runs({scaled("a"), scaled("b")}, {}, {.loss = 1})),
              HasSubstr("\n--loss 1: no run has a value of loss\n"));
  for (const char* part :
       {"time to validation loss 3", "Job file", "train.optimizer.lr  0.5", "train.model",
        "no difference known: Code, Seeds, ", "b: its job file cannot be read\n",
        "b: variables left out, since they look like secrets: HF_TOKEN\n",
        "c is left out: no such run\n"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr(std::string(50, 'm')))) << "a cell is short";
}

TEST(CompareText, HostileNamesStayOneCell) {
  auto evil = trained("a\nb\x1b[31m\"<b>", 8, 4);
  evil.state = "failed\r\n";
  const auto text = render_comparison(compare_runs({evil, trained("b", 8, 4)}, {}, {}));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, HasSubstr("a\\nb\\x1b[31m\"<b>"));
}

}  // namespace
}  // namespace dllaunch
