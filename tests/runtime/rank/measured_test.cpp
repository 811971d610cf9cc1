#include "runtime/rank/measured.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <sstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<std::int64_t>;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Measured, RemembersTheLatest) {
  const TemporaryFolder folder;
  const fs::path file = fs::path(folder.path()) / "a" / "table";
  EXPECT_FALSE(recall(file, "x"));
  EXPECT_TRUE(keep(file, "4 nodes of\n2", Values{1, -2}));
  EXPECT_TRUE(keep(file, "other", Values{}));
  EXPECT_TRUE(keep(file, "4 nodes of\n2", Values{3, 1LL << 62}));
  EXPECT_EQ(recall(file, "4 nodes of\n2"), (Values{3, 1LL << 62}));
  EXPECT_EQ(recall(file, "other"), Values{});
  EXPECT_FALSE(recall(file, "4")) << "the beginning of a key is no key";
  EXPECT_EQ(text_of(file), "4_nodes_of_2 3 4611686018427387904 .\nother .\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1) << "no temporary";
}

TEST(Measured, StaysSmall) {
  const TemporaryFolder folder;
  const fs::path file = fs::path(folder.path()) / "table";
  for (int i = 0; i < 1100; ++i) ASSERT_TRUE(keep(file, "k" + std::to_string(i), Values{i}));
  EXPECT_TRUE(recall(file, "k1099"));
  EXPECT_FALSE(recall(file, "k1"));
  EXPECT_LT(fs::file_size(file), 20000u);
}

TEST(Measured, DamageHoldsNothing) {
  const TemporaryFolder folder;
  const fs::path file = fs::path(folder.path()) / "table";
  ASSERT_TRUE(keep(file, "a", Values{1, 2, 3}));
  const std::string whole = text_of(file);
  for (std::size_t cut = 0; cut + 1 < whole.size(); ++cut) {
    std::ofstream(file, std::ios::trunc) << whole.substr(0, cut);
    EXPECT_FALSE(recall(file, "a")) << "the first " << cut << " bytes";
  }
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    std::ofstream(file, std::ios::trunc) << text;
    recall(file, "a");  // may return anything, but must not crash
  }
  std::ofstream(file, std::ios::trunc) << std::string(1 << 20, 'x');
  EXPECT_FALSE(recall(file, "a"));
  EXPECT_TRUE(keep(file, "a", Values{4}));
  EXPECT_EQ(recall(file, "a"), Values{4});
}

/// A damaged file heals with the next result; what is whole in it stays.
TEST(Measured, DamagedLinesAreNotKept) {
  const TemporaryFolder folder;
  const fs::path file = fs::path(folder.path()) / "table";
  std::ofstream(file) << "a 1 .\n\xff\x01junk\nb 2x .\nc 3\n"
                      << std::string(5000, 'x') << " 1 .\nd 4 .";
  ASSERT_TRUE(keep_all(file, std::vector<Measurement>{{"e", {5, 6}}, {"d", {7}}, {"e", {8}}}));
  EXPECT_EQ(text_of(file), "e 5 6 .\nd 7 .\na 1 .\n");
  EXPECT_EQ(recall_all(file), measurements_of(text_of(file)));
  EXPECT_EQ(text_of_measurements(recall_all(file)), text_of(file));
}

TEST(Measured, ManyAtOnceStaySmallToo) {
  const TemporaryFolder folder;
  const fs::path file = fs::path(folder.path()) / "table";
  std::vector<Measurement> many;
  for (int i = 0; i < 1100; ++i) many.push_back({"k" + std::to_string(i), {i}});
  ASSERT_TRUE(keep_all(file, many));
  EXPECT_EQ(recall_all(file).size(), 1000U);
  EXPECT_TRUE(recall(file, "k0"));
  EXPECT_FALSE(recall(file, "k1099"));
}

TEST(Measured, APipeIsNotWaitedFor) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/file").c_str(), 0600), 0);
  EXPECT_FALSE(recall(folder.path() + "/file", "key"));
}

TEST(Measured, ReportsThatItCannotBeWritten) {
  const auto kept = keep("/proc/nothing/table", "a", Values{1});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().kind, ErrorKind::unavailable);
}

TEST(Measured, LiesInTheUsersCache) {
  const auto with = [](std::string name, std::string value) {
    return [=](const std::string& asked) {
      return asked == name ? std::optional(value) : std::nullopt;
    };
  };
  EXPECT_EQ(measured_file(with("XDG_CACHE_HOME", "/c"), "t"), "/c/dllaunch/measured/t");
  EXPECT_EQ(measured_file(with("HOME", "/h"), "t"), "/h/.cache/dllaunch/measured/t");
  EXPECT_FALSE(measured_file(with("XDG_CACHE_HOME", "relative"), "t"));
  EXPECT_FALSE(measured_file(with("A", "b"), "t"));
  EXPECT_EQ(cpu_model().find(' '), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
