// Where a configuration has its gradients reduced: on GPUs or on the host.
#pragma once

#include <string>

#include "trainer/config/config.hpp"

namespace dllaunch {

/// Returns the setting that processes gradients in host memory before the reduction; empty: none.
std::string passes_host(const RuntimeConfig& runtime);

/// Whether gradients are best reduced in the memory of this machine's GPU: the first backend that
/// the configuration and the machine allow keeps them there, and no setting needs them on the host.
/// The backend may still fail to open.
bool reduces_on_gpu(const TrainConfig& config);

}  // namespace dllaunch
