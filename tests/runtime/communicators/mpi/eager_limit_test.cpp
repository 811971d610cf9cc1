#include "runtime/communicators/mpi/eager_limit.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace dllaunch {
namespace {

std::size_t limit_where(const std::optional<std::string>& set) {
  return eager_limit_over_tcp([&](const std::string& name) -> std::optional<std::string> {
    return name == "OMPI_MCA_btl_tcp_eager_limit" ? set : std::nullopt;
  });
}

TEST(EagerLimit, IsOpenMpisOwnWithoutItsHeaders) {
  EXPECT_EQ(limit_where(std::nullopt), 65536u - 512);
  EXPECT_EQ(limit_where("1048576"), 1048576u - 512);
}

TEST(EagerLimit, IgnoresInvalidValues) {
  for (const std::string set : {"", "x", "-1", "64k", "0", "600", "99999999999999999999999"}) {
    EXPECT_EQ(limit_where(set), 65536u - 512) << set;
  }
}

}  // namespace
}  // namespace dllaunch
