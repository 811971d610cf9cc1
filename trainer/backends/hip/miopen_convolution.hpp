// Convolutions by MIOpen's immediate mode: of the solutions that it names, the one that was the
// fastest here.
#pragma once

#include <miopen/miopen.h>

#include <memory>
#include <optional>

#include "trainer/backends/gpu/layers/convolution_choice.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::miopen {

/// As major*10000 + minor*100 + patch; 0: the library does not say.
int loaded_version();

/// Frees itself.
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) miopenDestroy(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// unavailable: MIOpen cannot work here, in its words.
  Result<Ok> open();
  miopenHandle_t raw() const { return raw_; }
  /// Where the next call works; a stream that stays the same is not told again, since MIOpen looks
  /// at the device anew each time.
  miopenStatus_t use(GpuStream stream);

 private:
  miopenHandle_t raw_ = nullptr;
  std::optional<GpuStream> stream_ = {};  // it may begin on one of its own
};

/// May a solution of this kind be taken? None that multiplies otherwise than the convolution says
/// (Winograd, FFT), which rounds coarser. Those whose sums come in another order each time MIOpen
/// leaves out itself, as each convolution asks it to.
bool is_welcome(miopenConvAlgorithm_t algorithm);

/// It keeps the handle. bad_request: TF32, or a tensor beyond 2^31. unavailable:
/// no solution for this shape.
Result<std::unique_ptr<gpu::Convolution>> make_convolution(std::shared_ptr<Handle> handle,
                                                           const gpu::PlanChoice& choice,
                                                           const gpu::ConvolutionShape& shape);

}  // namespace dllaunch::miopen
