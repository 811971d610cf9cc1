// Convolutions by MIOpen's immediate mode, with the fastest of the solutions that it returns.
#pragma once

#include <miopen/miopen.h>

#include <memory>
#include <optional>

#include "trainer/backends/gpu/layers/convolution_autotune.hpp"
#include "trainer/backends/gpu/math_library.hpp"

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

/// Whether solutions of this kind may be used. Excludes Winograd and FFT: larger rounding errors.
/// MIOpen itself excludes nondeterministic solutions; each convolution sets that attribute.
bool is_allowed(miopenConvAlgorithm_t algorithm);

/// Shares the handle. bad_request: TF32, or a size that does not fit an int. unavailable: MIOpen
/// has no solution for this shape.
Result<std::unique_ptr<gpu::Convolution>> make_convolution(std::shared_ptr<Handle> handle,
                                                           const gpu::AutotuneCache& cache,
                                                           const gpu::ConvolutionShape& shape);

}  // namespace dllaunch::miopen
