#include "trainer/graph/layers/layer.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/named_files.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch {
namespace {

TEST(Layer, ProblemsShowTheirValues) {
  EXPECT_EQ(shape_error("no {} of {}, {} or {}: {}",
                        {1, 0.5, std::array<int, 3>{1, 2, 3}, Shape{64, 1, 1}, std::int64_t{7}})
                .problem,
            "no 1 of 0.5, 1x2x3 or [64,1,1]: 7");
  EXPECT_EQ(shape_error("plain").problem, "plain");
  EXPECT_EQ(needs_image({8}).problem, "needs an image [channels,height,width], got [8]");
  EXPECT_EQ(needs_volume({8}).problem, "needs a volume [channels,depth,height,width], got [8]");
}

TEST(Layer, PrintsShapes) {
  EXPECT_EQ(to_string(Shape{3, 32, 32}), "[3,32,32]");
  EXPECT_EQ(elements_of({3, 32, 32}), 3072);
  EXPECT_EQ(elements_of({1 << 20, 1 << 20}), std::int64_t{1} << 40);
}

TEST(Layer, WindowsAreCountedInFloorMode) {
  EXPECT_EQ(output_extent(7, 2, 2, 0), 3);
  EXPECT_EQ(output_extent(7, 3, 2, 1), 4);
}

template <typename... Kinds>
std::set<std::string> listed_kinds(const std::variant<Kinds...>&) {
  std::set<std::string> names;
  const auto add = [&]<typename Kind>(const Kind&) {
    if constexpr (requires { Kind::name; }) names.emplace(Kind::name);
  };
  (add(Kinds{}), ...);
  return names;
}

TEST(Layer, EveryKindOfTheFolderIsListed) {
  const auto listed = listed_kinds(Operation());
  std::set<std::string> files = kinds_in("trainer/graph/layers");
  files.merge(kinds_in("trainer/graph/layers/sequences"));
  EXPECT_EQ(listed, files);
  EXPECT_EQ(listed.size() + 1, std::variant_size_v<Operation>) << "two of one name";
}

}  // namespace
}  // namespace dllaunch
