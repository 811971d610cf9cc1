#include "runtime/rank/transport.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

Result<Transport> of(bool mpi, std::optional<std::string> wanted,
                     const std::string& module = "/opt/libdltrain_mpi.so") {
  return transport_of({.mpi = mpi}, [&](const std::string& name) {
    if (name == "DLLAUNCH_MPI_MODULE") return std::optional(module);
    return name == "DLLAUNCH_TRANSPORT" ? wanted : std::nullopt;
  });
}

TEST(Transport, IsMpiWhereRanksWereStartedWithIt) {
  for (const auto& unset : {std::optional<std::string>(), std::optional<std::string>("auto")}) {
    EXPECT_EQ(*of(true, unset), Transport::mpi);
    EXPECT_EQ(*of(false, unset), Transport::tcp);
    EXPECT_EQ(*of(true, unset, ""), Transport::tcp) << "without a module";
  }
}

TEST(Transport, IsWhatTheVariableSays) {
  for (const bool mpi : {false, true}) {
    EXPECT_EQ(*of(mpi, "tcp"), Transport::tcp);
    EXPECT_EQ(*of(mpi, "mpi"), Transport::mpi);
    const auto wrong = of(mpi, "TCP");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::bad_request);
    EXPECT_EQ(wrong.error().what, "DLLAUNCH_TRANSPORT is \"TCP\"");
  }
}

}  // namespace
}  // namespace dllaunch
