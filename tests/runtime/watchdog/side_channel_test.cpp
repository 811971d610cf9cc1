#include "runtime/watchdog/side_channel.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace dllaunch {
namespace {

HostAddress loopback() {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1};
}

std::string wait_for_text(const SideChannel& channel, SideChannel::From& from) {
  std::array<std::byte, 100> space;
  for (int i = 0; i < 6000; ++i) {
    if (const auto bytes = channel.receive(space, from)) {
      return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "";
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(SideChannel, CarriesDatagramsAndSaysWhereTheyComeFrom) {
  auto a = SideChannel::open();
  auto b = SideChannel::open();
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->port(), b->port());
  a->send(bytes_of("how are you"), loopback(), b->port());
  SideChannel::From from;
  EXPECT_EQ(wait_for_text(*b, from), "how are you");
  EXPECT_EQ(from.port, a->port());
  b->send(bytes_of("well"), from.address, from.port);
  EXPECT_EQ(wait_for_text(*a, from), "well");
}

TEST(SideChannel, HasNothingWhereNothingCameAndSurvivesClosedPorts) {
  auto a = SideChannel::open();
  ASSERT_TRUE(a);
  std::uint16_t closed = 0;
  {
    auto gone = SideChannel::open();
    ASSERT_TRUE(gone);
    closed = gone->port();
  }
  for (int i = 0; i < 10; ++i) a->send(bytes_of("anyone?"), loopback(), closed);
  SideChannel::From from;
  std::array<std::byte, 10> space;
  EXPECT_FALSE(a->receive(space, from));
  a->send(bytes_of("to myself"), loopback(), a->port());
  EXPECT_EQ(wait_for_text(*a, from), "to myself");
}

TEST(SideChannel, AddressesAreThoseOthersCanReach) {
  for (const auto& address : host_addresses()) {
    EXPECT_NE(address, loopback());
    const bool link_local = address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
    EXPECT_FALSE(link_local);
  }
}

}  // namespace
}  // namespace dllaunch
