#include "runtime/communicators/peers/exchanges.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Exchanges, EndWithTheirLastMessage) {
  Exchanges exchanges;
  EXPECT_TRUE(exchanges.is_done(Pending{}));
  const Pending one = exchanges.open();
  const Pending other = exchanges.open();
  for (const Pending each : {one, other, one}) exchanges.add(each);
  exchanges.finish_one_of(one.id);
  EXPECT_FALSE(exchanges.is_done(one));
  exchanges.finish_one_of(other.id);
  EXPECT_TRUE(exchanges.is_done(other));
  exchanges.finish_one_of(one.id);
  EXPECT_TRUE(exchanges.is_done(one));
  EXPECT_EQ(exchanges.live(), 0u);
}

TEST(Exchanges, AnActionMayContinueThem) {
  Exchanges exchanges;
  const Pending exchange = exchanges.open();
  exchanges.add(exchange);
  int actions = 0;
  exchanges.at_end(exchange, [&] {
    ++actions;
    exchanges.add(exchange);
    exchanges.at_end(exchange, [&] { ++actions; });
  });
  exchanges.finish_one_of(exchange.id);
  EXPECT_FALSE(exchanges.is_done(exchange));
  exchanges.finish_one_of(exchange.id);
  EXPECT_TRUE(exchanges.is_done(exchange));
  EXPECT_EQ(actions, 2);
}

}  // namespace
}  // namespace dllaunch
