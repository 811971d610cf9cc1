// Transfers over loopback between processes of this machine.
#include "launcher/links/link_pull.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/network/no_descriptors.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

PulledData pulled_from(int port, const std::string& secret,
                       std::chrono::milliseconds patience = 20s) {
  PulledData data;
  pull_data(addresses_of("127.0.0.1", port), secret, {.transfer = 40ms, .patience = patience},
            data);
  return data;
}

TEST(LinkPull, MeasuresRateAndTime) {
  const auto port = serve_links("secret", 20s);
  ASSERT_TRUE(port);
  for (int i = 0; i < 3; ++i) {
    const auto data = pulled_from(*port, "secret");
    EXPECT_EQ(data.why, "");
    EXPECT_GT(data.gbit_per_s, 0.001);
    EXPECT_GT(data.us, 0);
  }
}

TEST(LinkPull, GivesNothingToStrangers) {
  const auto port = serve_links("secret", 20s);
  ASSERT_TRUE(port);
  EXPECT_EQ(pulled_from(*port, "another").why, "connected, but no answer came");
  const int stranger = connect_to("127.0.0.1", *port);
  EXPECT_EQ(exchange(stranger, "dllaunch-links \n", std::chrono::steady_clock::now() + 20s), "");
}

TEST(LinkPull, SaysWhenNobodyIsThere) {
  const int unused = listen_on(0);
  const int port = port_of(unused);
  close(unused);
  EXPECT_EQ(pulled_from(port, "secret").why, "Connection refused");
  EXPECT_NE(pulled_from(port, "secret").why, "");
  PulledData data;
  pull_data({}, "secret", {}, data);
  EXPECT_EQ(data.why, "its name has no address");
}

TEST(LinkPull, AProcessWithoutDescriptorsDoesNotSpin) {
  const auto port = serve_links("secret", 20s);
  ASSERT_TRUE(port);
  EXPECT_LT(cpu_seconds_without_descriptors(*port), spinning_s);
  EXPECT_EQ(pulled_from(*port, "secret").why, "") << "once there are some";
}

/// A host whose process is stopped still takes connections: its kernel does.
TEST(LinkPull, DoesNotWaitForWhoHangs) {
  const int mute = listen_on(0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(pulled_from(port_of(mute), "secret", 200ms).why, "connected, but no answer came");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  close(mute);
}

}  // namespace
}  // namespace dllaunch
