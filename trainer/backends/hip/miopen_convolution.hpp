// Convolutions by MIOpen's immediate mode: the solutions that it returns, which are its engines.
#pragma once

#include <miopen/miopen.h>

#include <memory>
#include <optional>

#include "trainer/backends/gpu/layers/engine_choice.hpp"

namespace dllaunch::miopen {

/// Returns major * 10000 + minor * 100 + patch; 0 if the library does not report it.
int loaded_version();

class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) miopenDestroy(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// unavailable: MIOpen does not start; quotes its message.
  Result<Ok> open();
  miopenHandle_t raw() const { return raw_; }
  /// Sets the stream of the next call. Skips a stream that has not changed, since MIOpen queries
  /// the device each time.
  miopenStatus_t use(GpuStream stream);

 private:
  miopenHandle_t raw_ = nullptr;
  std::optional<GpuStream> stream_ = {};  // empty: not set; MIOpen may start with its own
};

/// Of a solution whose sums are ordered, which MIOpen itself knows: it lists no other for a
/// convolution with that attribute.
gpu::Relaxation relaxation_of(miopenConvAlgorithm_t algorithm);

/// Returns MIOpen's solutions for one pass, which share the handle. bad_request: TF32, or a size
/// that does not fit an int. unavailable: MIOpen does not take the shape.
Result<gpu::PassEngines> engines_of(std::shared_ptr<Handle> handle,
                                    const gpu::ConvolutionShape& shape, gpu::Pass pass);

}  // namespace dllaunch::miopen
