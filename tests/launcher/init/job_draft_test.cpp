#include "launcher/init/job_draft.hpp"

#include <gtest/gtest.h>

#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

TEST(JobDraft, IsWrittenWithItsComments) {
  const JobDraft draft{.head = {"first", "second"},
                       .name = "a b",
                       .resources = {{.key = "nodes", .value = 2, .comment = "two"}},
                       .environment = {{.key = "variables", .value = {{"A", "1"}}}},
                       .other = {{.key = "run", .value = Json::array({"x", "y z"})}}};
  EXPECT_EQ(render_draft(draft),
            "# first\n# second\nname: \"a b\"\nresources:\n  # two\n  nodes: 2\nenvironment:\n"
            "  variables:\n    A: \"1\"\nrun: [x, \"y z\"]\n");
}

/// Whatever lines a script has, the job file holds them all.
TEST(JobDraft, KeepsEveryCharacterOfATextOfSeveralLines) {
  for (const std::string text : {"a\nb\n", "  indented\nb\n", "\n\nlate\n", "a\n\n\n  b\n\tc\n",
                                 "# no comment\nx: y\n", "a: |\n  - b\n", "trailing \nblank\n",
                                 "- 'quoted\"\n", "umlaut ä\nü\n", "no newline\nat the end"}) {
    const JobDraft draft{.name = "a",
                         .environment = {{.key = "setup", .value = text}},
                         .other = {{.key = "run", .value = text}}};
    const auto parsed = parse_job(render_draft(draft), "f", {});
    ASSERT_TRUE(parsed.job) << render_draft(draft) << render(parsed.problems, false);
    // A block ends with a newline, which means nothing to bash.
    const auto same = [&text](std::string found) { return found == text || found == text + "\n"; };
    EXPECT_TRUE(same(parsed.job->run_command.back())) << render_draft(draft);
    EXPECT_TRUE(same(*parsed.job->environment.setup)) << render_draft(draft);
  }
}

}  // namespace
}  // namespace dllaunch
