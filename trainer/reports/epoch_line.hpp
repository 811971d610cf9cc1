// The progress line of an epoch.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/reports/events.hpp"

namespace dllaunch {

/// Returns "epoch 1/5: loss 0.4102, accuracy 0.8511, validation loss 0.3120, accuracy 0.8873, 9.1
/// s, 6570 images/s" with the fields that are present.
std::string epoch_line(const EpochEvent& event, std::int64_t epochs);

}  // namespace dllaunch
