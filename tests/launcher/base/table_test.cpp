#include "launcher/base/table.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;

TEST(Table, ColumnsBeginBelowEachOther) {
  EXPECT_EQ(table_text({{"RUN", "STATE"}, {"a-long-one", "running"}, {"b", ""}}, "  "),
            "  RUN         STATE\n  a-long-one  running\n  b\n");
  EXPECT_EQ(table_text({}), "");
}

TEST(Table, CharactersCountNotBytes) {
  EXPECT_THAT(table_lines({{"\xc3\xa4\xc3\xb6", "1"}, {"abc", "2"}}),
              ElementsAre("\xc3\xa4\xc3\xb6   1", "abc  2"));
}

TEST(Table, AWiderCellMovesItsOwnLineOnly) {
  EXPECT_THAT(table_lines({{"abcdef", "1"}, {"a", "2"}}, 3), ElementsAre("abcdef  1", "a    2"));
}

}  // namespace
}  // namespace dllaunch
