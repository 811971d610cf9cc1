// run_shell(): what is known of a script's variables and commands, compared with bash itself.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "launcher/lint/bash/shell_run.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::lint {
namespace {

/// The argv of every command: "[words]", or "?" if unknown.
std::string ran(const std::string& script) {
  const ShellTree tree = read_shell(script);
  const ShellRun run = run_shell(tree, script);
  std::string text;
  for (const RanCommand& command : run.commands) {
    if (!text.empty()) text += "; ";
    for (const Text& word : command.words) {
      if (&word != &command.words.front()) text += " ";
      for (const char c : word.bytes()) text += c == Text::hole ? '?' : c;
    }
    if (command.per_rank) text += " (rank)";
  }
  return text;
}

TEST(RunShell, ExpandsWhatIsCertain) {
  EXPECT_EQ(ran("a=1; b=\"$a x\"; c $b \"$b\" ${a}2"), "c 1 x 1 x 12");
  EXPECT_EQ(ran("a=(x \"y z\"); a+=(w); c \"${a[@]}\" ${a[1]} $a"), "c x y z w y z x");
  EXPECT_EQ(ran("c ${a:-d} ${B:-e} ${a:=f} $a ${a:+g}"), "c d e f f g");
  EXPECT_EQ(ran("PORT=${PORT:-1}; c $PORT ${SLURM_NTASKS:-2}"), "c 1 ?");
  EXPECT_EQ(ran("c $HOME $SLURM_JOB_ID $(date) $((1 + 1)) $1"), "date; c ? ? ? ? ?");
}

TEST(RunShell, AVariableThatNothingSetsIsEmpty) {
  EXPECT_EQ(ran("c x${fe}0 $fe y"), "c x0 y");
  EXPECT_EQ(ran("source ./settings.sh; c x${fe}0"), "c x?0");
  EXPECT_EQ(ran("source venv/bin/activate; c x${fe}0"), "c x0");
  EXPECT_EQ(ran("read fe; c x${fe}0"), "c x?0");
  EXPECT_EQ(ran("A=1; unset A; c x$A"), "c x");
}

TEST(RunShell, FollowsEveryBranch) {
  EXPECT_EQ(ran("if x; then a=1; else a=1; fi; c $a"), "x; c 1");
  EXPECT_EQ(ran("if x; then a=1; else a=2; fi; c $a"), "x; c ?");
  EXPECT_EQ(ran("a=1; if x; then a=2; exit; fi; c $a"), "x; c 1");
  EXPECT_EQ(ran("a=1; x && a=2; c $a"), "x; c ?");
  EXPECT_EQ(ran("a=1; for i in 1 2; do c $a $i; a=2; done; c $a"), "c ? ?; c ?");
  EXPECT_EQ(ran("a=1; case $x in y) a=2;; esac; c $a"), "c ?");
  EXPECT_EQ(ran("a=1; (a=2; c $a); c $a | d"), "c 2; c 1; d");
  EXPECT_EQ(ran("exit 0; c"), "");
}

TEST(RunShell, CallsFunctions) {
  EXPECT_EQ(ran("f() { local a=$1; c $a \"$@\"; }; a=0; f 1 2; c $a"), "c 1 1 2; c 0");
  EXPECT_EQ(ran("f() { return; c; }; f; d"), "d");
  EXPECT_EQ(ran("f() { c $1; f $1; }; f x").substr(0, 8), "c x; c x");
}

TEST(RunShell, WalksTextThatBecomesScript) {
  EXPECT_EQ(ran("x=1; eval \"c $x\""), "c 1");
  EXPECT_EQ(ran("srun -n2 bash -c 'c $SLURM_PROCID'"),
            "srun -n2 bash -c c $SLURM_PROCID; c ? (rank)");
  EXPECT_EQ(ran("cat > w.sh << 'E'\n#!/bin/sh\nc $1\nE\nsrun ./w.sh d"),
            "cat; srun ./w.sh d; c ? (rank)");
}

TEST(RunShell, HandsOnWhatIsExported) {
  const std::string script = "A=1; export OMP_NUM_THREADS=7; MASTER_PORT=1; RANK=2 srun x; srun y";
  const ShellTree tree = read_shell(script);
  const ShellRun run = run_shell(tree, script);
  ASSERT_EQ(run.commands.size(), 2u);
  const auto& first = run.commands[0].environment;
  EXPECT_EQ(first.at("OMP_NUM_THREADS")->text.bytes(), "7");
  EXPECT_EQ(first.at("RANK")->text.bytes(), "2");
  EXPECT_FALSE(first.contains("MASTER_PORT"));
  EXPECT_FALSE(run.commands[1].environment.contains("RANK"));
}

/// Scripts of assignments, branches and functions whose every value is certain; each ends with the
/// values of its variables, printed.
class ScriptMaker {
 public:
  explicit ScriptMaker(unsigned seed) : random_(seed) {}

  std::string make() {
    std::string script = below(4) == 0 ? "" : "a=1 b= c='x y' d=(e)\n";
    for (int i = 0; i < 12; ++i) script += statement(2);
    return script + "printf '<%s>\\n' \"$a\" \"$b\" \"$c\" \"${d[@]}\" \"${d[0]}\" $a $b\n";
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::string pick(const std::vector<std::string>& from) { return from[below(from.size())]; }
  std::string name() { return pick({"a", "b", "c"}); }

  std::string piece(bool quoted) {
    const std::string n = name();
    std::vector<std::string> pieces = {"x",
                                       "0xfe",
                                       ",",
                                       "1",
                                       "$" + n,
                                       "${" + n + "}",
                                       "${" + n + ":-y}",
                                       "${" + n + ":+z}",
                                       "${unset_" + n + "}",
                                       "${unset_" + n + ":-w}",
                                       "\\$",
                                       "\\\\"};
    if (quoted) pieces.insert(pieces.end(), {" ", "'", "#", ";", "\\\"", "\\q"});
    if (!quoted) pieces.insert(pieces.end(), {"'s $a'", "\"t $b\"", "\\ ", "$'u\\tv'", "\"\""});
    return pick(pieces);
  }

  std::string value() {
    std::string text;
    const bool quoted = below(2) == 0;
    if (quoted) text += '"';
    for (auto count = below(4) + 1; count > 0; --count) text += piece(quoted);
    if (quoted) text += '"';
    return text;
  }

  std::string statement(int depth) {
    switch (below(depth > 0 ? 9 : 4)) {
      case 0:
      case 1:
        return name() + "=" + value() + "\n";
      case 2:
        return name() + "+=" + value() + "\n";
      case 3:
        return "d=(" + value() + " " + value() + ") # x\n";
      case 4:
        return "d+=(" + value() + ")\nexport " + name() + "=" + value() + "\n";
      case 5:
        return "if true; then\n" + statement(0) + "fi\n";
      case 6:
        return "( " + name() + "=lost )\n{ " + statement(0) + "}\n";
      case 7:
        return "f() {\nlocal " + name() + "=" + value() + "\n" + name() + "=\"$1\"\n}\nf " +
               value() + " q\n";
      default:
        return "cat > /dev/null << E\n$a ' \" `true`\nE\n" + statement(0);
    }
  }

  std::mt19937 random_;
};

TEST(RunShell, AgreesWithBash) {
  const TemporaryFolder folder;
  PosixSystem system(Console{});
  int compared = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const std::string script = ScriptMaker(seed).make();
    const std::string file = folder.path() + "/script.sh";
    std::ofstream(file) << script;
    const auto output =
        system.run({"env", "-i", "PATH=/usr/bin:/bin", "bash", file}, std::chrono::seconds(20));
    ASSERT_TRUE(output);
    ASSERT_EQ(output->err, "") << script;
    const ShellTree tree = read_shell(script);
    ASSERT_TRUE(tree.unclosed.empty()) << script;
    const ShellRun run = run_shell(tree, script);
    ASSERT_FALSE(run.commands.empty());
    std::string ours;
    bool known = true;
    for (std::size_t i = 2; i < run.commands.back().words.size(); ++i) {
      const Text& word = run.commands.back().words[i];
      known = known && word.known();
      ours += "<" + word.bytes() + ">\n";
    }
    // What we call unknown, bash may know; what we call known must be right.
    if (!known) continue;
    ++compared;
    EXPECT_EQ(ours, output->out) << script;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, 80);
}

}  // namespace
}  // namespace dllaunch::lint
