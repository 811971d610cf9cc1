// read_shell(): words, commands, and what holds them together.
#include <gtest/gtest.h>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch::lint {
namespace {

std::string shown(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    if (part.kind == PartKind::text) text += part.text;
    if (part.kind == PartKind::variable)
      text += "<" + part.text + part.operation + shown(part.operand) + ">";
    if (part.kind == PartKind::output) text += "<output>";
    if (part.kind == PartKind::arithmetic) text += "<number>";
  }
  return text;
}

/// The commands of a script, one a line, words with blanks between them.
void collect(const Node& node, std::string& text) {
  if (node.kind == NodeKind::command) {
    for (const Assignment& assignment : node.assignments) {
      text += assignment.name + (assignment.append ? "+=" : "=") + shown(assignment.value.parts);
      for (const Word& element : assignment.elements) text += "(" + shown(element.parts) + ")";
      text += " ";
    }
    for (const Word& word : node.words) text += shown(word.parts) + " ";
    for (const Redirection& redirection : node.redirections) {
      text += redirection.operation + shown(redirection.target.parts) + " ";
    }
    text += "\n";
  }
  for (const Node& child : node.children) collect(child, text);
}

std::string commands(std::string_view script) {
  const ShellTree tree = read_shell(script);
  EXPECT_TRUE(tree.unclosed.empty()) << script;
  std::string text;
  collect(tree.root, text);
  return text;
}

TEST(ReadShell, Words) {
  EXPECT_EQ(commands("a 'b c' \"d $e\" f\\ g $'h\\n'"), "a b c d <e> f g h\n \n");
  EXPECT_EQ(commands("a \"\" '' # b"), "a   \n");
  EXPECT_EQ(commands("a#b \\\n c"), "a#b c \n");
  EXPECT_EQ(commands("a $ \"$\" $1 $? ${12}"), "a $ $ <1> <?> <12> \n");
}

TEST(ReadShell, ATimedCommandBeginsAtTime) {
  EXPECT_EQ(commands("time -p a b; ! c | d; time e"), "a b \nc \nd \ne \n");
  const ShellTree tree = read_shell("time -p a > b 2>&1");
  ASSERT_EQ(tree.root.children.size(), 1u);
  const Node& command = tree.root.children[0];
  EXPECT_EQ(command.begin, 0u);
  EXPECT_EQ(command.words[0].begin, 8u);
  ASSERT_EQ(command.redirections.size(), 2u);
  EXPECT_EQ(command.redirections[0].begin, 10u);
  EXPECT_EQ(command.redirections[0].end, 13u);
  EXPECT_EQ(command.redirections[1].begin, 14u);
  EXPECT_EQ(command.redirections[1].end, 18u);
}

TEST(ReadShell, Expansions) {
  EXPECT_EQ(commands("${a:-b c} ${d:=$e} ${f%.*} ${#g} ${h[1]}"),
            "<a:-b c> <d:=<e>> <fother> <gother> <h> \n");
  EXPECT_EQ(commands("$(a $(b) \")\") `c` $((1 + (2))) <(d)"),
            "<output> <output> <number> <output> \n");
  EXPECT_EQ(commands("\"${a:-\"}\"}\" \"$(echo \"x\")\""), "<a:-}> <output> \n");
}

TEST(ReadShell, Commands) {
  EXPECT_EQ(commands("a; b & c && d || e | f\n! g"), "a \nb \nc \nd \ne \nf \ng \n");
  EXPECT_EQ(commands("A=1 B=\"x y\" c D=2"), "A=1 B=x y c D=2 \n");
  EXPECT_EQ(commands("export A=1 B; A+=2; a=(1 \"2 3\"\n4)"),
            "A=1 export B \nA+=2 \na=(1)(2 3)(4) \n");
  EXPECT_EQ(commands("a > b 2>&1 < c &> d"), "a >b >&1 <c &>d \n");
}

TEST(ReadShell, Structures) {
  EXPECT_EQ(commands("if a; then b; elif c; then d; else e; fi > f; g"),
            "a \nb \nc \nd \ne \ng \n");
  EXPECT_EQ(commands("while a; do b; done; until c\ndo d\ndone"), "a \nb \nc \nd \n");
  EXPECT_EQ(commands("for i in 1 2; do a; done; for ((i = 0; i < 3; ++i)); do b; done"),
            "a \nb \n");
  EXPECT_EQ(commands("case $x in a|b) c ;; (d) e;& *) f; esac; g"), "c \ne \nf \ng \n");
  EXPECT_EQ(commands("{ a; }; (b; c); f() { d; }; function g { e; }"), "a \nb \nc \nd \ne \n");
  EXPECT_EQ(commands("[[ a < b && $c == (d|e) ]] && f; echo if then"),
            "[[ a b <c> == d e \nf \necho if then \n");
}

TEST(ReadShell, HereDocuments) {
  EXPECT_EQ(commands("cat << A > f; b\n$x ' \"\nA\nc"), "cat <<A >f \nb \nc \n");
  EXPECT_EQ(commands("cat <<- 'A' << B\n\tx\n\tA\ny\nB\nc"), "cat <<-A <<B \nc \n");
  const ShellTree tree = read_shell("cat << 'A'\n$x\nA\ncat << A\n$x\nA\n");
  EXPECT_FALSE(tree.root.children[0].documents[0].expands);
  EXPECT_EQ(shown(tree.root.children[1].documents[0].parts), "<x>\n");
}

TEST(ReadShell, TellsWhatIsNeverClosed) {
  for (const char* script : {"a 'b", "a \"b", "a $(b", "a ${b", "a `b", "if a; then b", "(a",
                             "for i in 1; do a", "{ a", "cat << A\nb", "a=(1"}) {
    EXPECT_FALSE(read_shell(script).unclosed.empty()) << script;
  }
}

TEST(ReadShell, KnowsWhereThingsStand) {
  const std::string script = "a\n  b \"c$d\" e\n";
  const ShellTree tree = read_shell(script);
  const Node& command = tree.root.children[1];
  EXPECT_EQ(command.begin, script.find('b'));
  EXPECT_EQ(command.words[2].begin, script.find('e'));
  EXPECT_EQ(command.words[1].parts.back().begin, script.find('$'));
}

TEST(ReadShell, StopsWhereItGetsTooDeep) {
  std::string script;
  for (int i = 0; i < 10000; ++i) script += "$(";
  EXPECT_EQ(read_shell(script).unread, "nested too deeply");
  EXPECT_LE(read_shell(script).unread_from, 2 * 151u);
}

TEST(ReadShell, ReadsNothingOfWhatIsTooLong) {
  const std::string longest((512 << 10) - 2, ' ');
  EXPECT_EQ(read_shell(longest + ":;").root.children.size(), 1u);
  const auto tree = read_shell(longest + ":; ");
  EXPECT_EQ(tree.unread, "longer than 512 KiB");
  EXPECT_TRUE(tree.root.children.empty());
}

}  // namespace
}  // namespace dllaunch::lint
