#include "launcher/os/line_tail.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using Lines = std::vector<std::string>;

class LineTailTest : public testing::Test {
 protected:
  void append(const std::string& text) {
    std::ofstream(path_, std::ios::app | std::ios::binary) << text;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/log";
};

TEST_F(LineTailTest, WaitsForAFileThatAppearsLate) {
  LineTail tail(path_);
  EXPECT_EQ(tail.read(), Lines());
  append("one\n");
  EXPECT_EQ(tail.read(), Lines({"one"}));
  EXPECT_EQ(tail.read(), Lines());
}

TEST_F(LineTailTest, DeliversALineWhenItsNewlineIsThere) {
  LineTail tail(path_);
  append("half");
  EXPECT_EQ(tail.read(), Lines());
  append(" whole\nnext");
  EXPECT_EQ(tail.read(), Lines({"half whole"}));
  EXPECT_EQ(tail.take_rest(), "next");
  EXPECT_EQ(tail.take_rest(), "");
}

TEST_F(LineTailTest, SkipsWhatAnEarlierRunLeft) {
  append("old\n");
  LineTail tail(path_, 4);
  append("new\n");
  EXPECT_EQ(tail.read(), Lines({"new"}));
}

TEST_F(LineTailTest, EveryLineOfAFileThatIsOver) {
  append("old\none\n\ntwo");
  Lines seen;
  const auto look = [&seen](const std::string& line) { seen.push_back(line); };
  for_each_line(path_, look, 4);
  EXPECT_EQ(seen, Lines({"one", "", "two"}));
  seen.clear();
  for_each_line(path_ + ".none", look);
  EXPECT_EQ(seen, Lines({""}));
}

// tqdm and its like: the line is what a terminal would show at the end.
TEST_F(LineTailTest, ALineThatRedrawsItselfIsItsLastState) {
  LineTail tail(path_);
  append("\r  0%|    |\r 50%|##  |");
  EXPECT_EQ(tail.read(), Lines());
  EXPECT_EQ(tail.redrawn(), " 50%|##  |");
  append("\r");
  append("100%|####|\r\n");
  append("dos\r\n");
  EXPECT_EQ(tail.read(), Lines({"100%|####|", "dos"}));
  EXPECT_EQ(tail.redrawn(), "");
  append("plain");
  EXPECT_EQ(tail.read(), Lines());
  EXPECT_EQ(tail.redrawn(), "");
}

TEST_F(LineTailTest, ABarOfMegabytesKeepsItsEnd) {
  LineTail tail(path_);
  for (int i = 0; i < 3000; ++i) append("\r" + std::string(100, '#') + std::to_string(i));
  EXPECT_EQ(tail.read(), Lines());
  append("\n");
  EXPECT_EQ(tail.read(), Lines({std::string(100, '#') + "2999"}));
}

TEST_F(LineTailTest, BeginsAgainWhenTheFileShrank) {
  LineTail tail(path_);
  append("a long first line\nand a half");
  EXPECT_EQ(tail.read().size(), 1u);
  std::filesystem::resize_file(path_, 0);
  append("fresh\n");
  EXPECT_EQ(tail.read(), Lines({"fresh"}));
}

TEST_F(LineTailTest, CutsALineWithoutEnd) {
  LineTail tail(path_);
  append(std::string(3 * LineTail::longest_line, 'x') + "\nshort\n");
  const auto lines = tail.read();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), LineTail::longest_line);
  EXPECT_EQ(lines[1], "short");
}

TEST_F(LineTailTest, AFolderOrADeviceIsNoFile) {
  EXPECT_EQ(LineTail("/").read(), Lines());
  EXPECT_EQ(LineTail("/dev/zero").read(), Lines());
}

// However the bytes arrive, the lines are those that were written.
TEST_F(LineTailTest, PiecesOfAnySizeGiveTheSameLines) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::filesystem::remove(path_);
    LineTail tail(path_);
    Lines expected;
    std::string text;
    for (auto i = random() % 20; i > 0; --i) {
      std::string line;
      for (auto c = random() % 40; c > 0; --c) {
        const char byte = static_cast<char>(random() % 256);
        line += byte == '\n' || byte == '\r' ? ' ' : byte;
      }
      expected.push_back(line);
      text += line + "\n";
    }
    Lines seen;
    while (!text.empty()) {
      const std::size_t size = std::min<std::size_t>(text.size(), 1 + random() % 30);
      append(text.substr(0, size));
      text.erase(0, size);
      if (random() % 2 == 0) continue;
      for (auto& line : tail.read()) seen.push_back(std::move(line));
    }
    for (auto& line : tail.read()) seen.push_back(std::move(line));
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace dllaunch
