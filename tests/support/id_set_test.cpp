#include "support/id_set.hpp"

#include <set>

#include <gtest/gtest.h>

#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

TEST(IdSet, HoldsWhatWasPutIn) {
  IdSet set{3, 1, 200};
  EXPECT_EQ(set.ids(), (std::vector{1, 3, 200}));
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.first(), 1);
  EXPECT_EQ(set.last(), 200);
  set.erase(200);
  set.erase(77);
  EXPECT_EQ(set, (IdSet{1, 3}));
  EXPECT_FALSE(set.contains(200));
  EXPECT_FALSE(set.contains(-1));
}

TEST(IdSet, EmptyHasNoFirstAndNoLast) {
  const IdSet none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.first(), -1);
  EXPECT_EQ(none.last(), -1);
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(none.ids().empty());
}

TEST(IdSet, RangesHaveBothEnds) {
  EXPECT_EQ(IdSet::range(62, 66), (IdSet{62, 63, 64, 65, 66}));
  EXPECT_EQ(IdSet::range(63, 63), (IdSet{63}));
  EXPECT_EQ(IdSet::range(0, 127).size(), 128);
  EXPECT_EQ(IdSet::range(0, IdSet::max_id).last(), IdSet::max_id);
  EXPECT_TRUE(IdSet::range(5, 4).empty());
}

TEST(IdSet, EqualSetsAreEqualHoweverTheyWereMade) {
  IdSet shrunk{1, 500};
  shrunk.erase(500);
  EXPECT_EQ(shrunk, IdSet{1});
  EXPECT_EQ((IdSet{1, 500} & IdSet{1, 2}), IdSet{1});
  EXPECT_EQ((IdSet{1, 500} - IdSet{500}), IdSet{1});
}

TEST(IdSet, ComputesAsSetsDo) {
  Random random(20250101);
  for (int round = 0; round < 2000; ++round) {
    std::set<int> a;
    std::set<int> b;
    IdSet x;
    IdSet y;
    for (int i = 0; i < 20; ++i) {
      const int p = random.below(300);
      const int q = random.below(150);
      a.insert(p), x.insert(p);
      b.insert(q), y.insert(q);
    }
    std::set<int> both;
    std::set<int> either = a;
    std::set<int> only = a;
    for (const int id : b) {
      if (a.count(id) > 0) both.insert(id);
      either.insert(id);
      only.erase(id);
    }
    const auto list = [](const std::set<int>& s) { return std::vector(s.begin(), s.end()); };
    ASSERT_EQ((x & y).ids(), list(both));
    ASSERT_EQ((x | y).ids(), list(either));
    ASSERT_EQ((x - y).ids(), list(only));
    ASSERT_EQ(x.intersects(y), !both.empty());
    ASSERT_EQ(x.contains(y), both.size() == b.size());
    ASSERT_EQ(*parse_id_list(to_list(x)), x);
    ASSERT_EQ(*parse_mask(to_mask(x)), x);
  }
}

TEST(IdSet, IsWrittenAsLinuxWritesIt) {
  EXPECT_EQ(to_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(to_list({0, 1}), "0-1");
  EXPECT_EQ(to_list({5}), "5");
  EXPECT_EQ(to_list({}), "");
}

TEST(IdSet, IsWrittenAsSlurmWantsMasks) {
  EXPECT_EQ(to_mask(IdSet::range(9, 15)), "0xfe00");
  EXPECT_EQ(to_mask(IdSet::range(49, 55)), "0xfe000000000000");
  EXPECT_EQ(to_mask({64}), "0x10000000000000000");
  EXPECT_EQ(to_mask({0}), "0x1");
  EXPECT_EQ(to_mask({}), "0x0");
}

TEST(IdSet, ReadsLists) {
  EXPECT_EQ(*parse_id_list(" 0-3 , 8 "), (IdSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(*parse_id_list("0-1,8-87\n"), IdSet::range(8, 87) | IdSet::range(0, 1));
  EXPECT_EQ(*parse_id_list(""), IdSet{});
  EXPECT_EQ(*parse_id_list("  "), IdSet{});
  EXPECT_EQ(*parse_id_list("65535"), IdSet{65535});
}

TEST(IdSet, NamesTheItemItCannotRead) {
  const auto what = [](std::string_view text) { return parse_id_list(text).error().what; };
  EXPECT_EQ(what("0-3,x"), "list item 'x' is not a number or a range");
  EXPECT_EQ(what("3-1"), "list item '3-1' runs backwards");
  EXPECT_EQ(what("1,,2"), "list item '' is not a number or a range");
  EXPECT_EQ(what("1,"), "list item '' is not a number or a range");
  EXPECT_EQ(what("-1"), "list item '-1' is not a number or a range");
  EXPECT_EQ(what("1--3"), "list item '1--3' is not a number or a range");
  EXPECT_EQ(what("0-65536"), "list item '0-65536' is above 65535");
  EXPECT_EQ(what("99999999999"), "list item '99999999999' is not a number or a range");
  EXPECT_EQ(what("0x3"), "list item '0x3' is not a number or a range");
}

TEST(IdSet, ReadsMasks) {
  EXPECT_EQ(*parse_mask("0xfe00"), IdSet::range(9, 15));
  EXPECT_EQ(*parse_mask("FE00"), IdSet::range(9, 15));
  EXPECT_EQ(*parse_mask("00000000,0000fe00"), IdSet::range(9, 15));
  EXPECT_EQ(*parse_mask("ff,00000000,0000fe00"), IdSet::range(9, 15) | IdSet::range(64, 71));
  EXPECT_EQ(*parse_mask("0x0"), IdSet{});
  EXPECT_EQ(*parse_mask("0x" + std::string(30000, '0') + "1"), IdSet{0});
}

TEST(IdSet, SaysWhatIsWrongWithAMask) {
  const auto what = [](std::string_view text) { return parse_mask(text).error().what; };
  EXPECT_EQ(what(""), "mask '' is empty");
  EXPECT_EQ(what("0x"), "mask '0x' is empty");
  EXPECT_EQ(what("0xfg"), "mask '0xfg' is not hexadecimal");
  EXPECT_EQ(what("1,23"), "mask '1,23' has a group that is not 32 bits");
  EXPECT_EQ(what("123456789,00000001"),
            "mask '123456789,00000001' has a group that is not 32 bits");
  EXPECT_EQ(what(",00000001"), "mask ',00000001' has a group that is not 32 bits");
  EXPECT_NE(what("0x1" + std::string(20000, '0')).find("has a bit above 65535"), std::string::npos);
}

TEST(IdSet, SurvivesDamagedText) {
  with_damaged({"0-3,8", "0-87,96-175", "1,2,3", " 7 - 9 "}, 20000, 1, [](const std::string& text) {
    const auto set = parse_id_list(text);
    if (set)
      EXPECT_EQ(*parse_id_list(to_list(*set)), *set);
    else
      EXPECT_FALSE(set.error().what.empty());
  });
  with_damaged({"0xfe00", "00000000,0000fe00", "ffffffffffffffff"}, 20000, 2,
               [](const std::string& text) {
                 const auto set = parse_mask(text);
                 if (set)
                   EXPECT_EQ(*parse_mask(to_mask(*set)), *set);
                 else
                   EXPECT_FALSE(set.error().what.empty());
               });
}

}  // namespace
}  // namespace dllaunch
