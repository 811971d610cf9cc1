#include "runtime/gpu/sensors/xid.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Xid, HasWordsForEveryNumber) {
  EXPECT_EQ(xid_words(79).meaning, "it has fallen off the bus");
  EXPECT_NE(xid_words(31).advice, xid_words(79).advice) << "a program's fault is not the node's";
  for (unsigned xid = 0; xid < 1000; ++xid) {
    EXPECT_FALSE(xid_words(xid).meaning.empty()) << xid;
    EXPECT_FALSE(xid_words(xid).advice.empty()) << xid;
  }
  EXPECT_EQ(xid_words(999).meaning, xid_words(7).meaning);
}

}  // namespace
}  // namespace dllaunch
