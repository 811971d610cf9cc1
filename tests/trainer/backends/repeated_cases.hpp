// Cases of backend_test.cpp that say nothing new where fakes stand for a vendor's libraries.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "tests/support/tier.hpp"

namespace dllaunch {

/// Of the running test. The fakes are exact and plain, and the arenas and all layers but those of
/// the libraries are host_gpu_test's, which has these cases.
inline bool repeats_others() {
#ifdef DLLAUNCH_FAKE_LIBRARIES
  static const std::set<std::string_view> repeated = {
      "AnEmptyBatchMovesNoStatistics", "KeepsPlainValuesBitForBit", "KeepsPaddingZero",
      "GivesTheSameBitsAgain",         "LetsNaNImagesReachTheLoss", "LetsNaNWeightsReachTheLoss"};
  const std::string_view name = testing::UnitTest::GetInstance()->current_test_info()->name();
  return !full_tier() && repeated.contains(name.substr(0, name.find('/')));
#else
  return false;
#endif
}

}  // namespace dllaunch
