// Interface to the vendor's libraries: convolutions and matrix products. cuDNN and cuBLASLt for
// CUDA, MIOpen and rocBLAS for HIP, plain loops on the host in tests.
#pragma once

#include <cstddef>
#include <memory>

#include "gpu_api.hpp"
#include "runtime/numerics/dtype.hpp"
#include "support/result.hpp"
#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"

namespace dllaunch::gpu {

constexpr DType dtype_of(float) {
  return DType::f32;
}
constexpr DType dtype_of(Float16) {
  return DType::f16;
}
constexpr DType dtype_of(BFloat16) {
  return DType::bf16;
}

/// Data type of inputs and outputs: f32, bf16 or f16. Accumulation is always in float.
struct Numerics {
  DType type = DType::f32;
  bool tf32 = false;  // f32 only: inputs may be rounded to TF32 (10 mantissa bits)
  bool operator==(const Numerics&) const = default;
};

/// x and y channels last, weights [y.channels, kernel..., x.channels], all of `type`. Also says
/// which backward passes are needed.
struct ConvolutionShape {
  DType type = DType::f32;
  bool tf32 = false;
  Volume x;
  Volume y;
  Window window;
  bool backward_data = true;
  bool backward_weights = true;
  bool operator==(const ConvolutionShape&) const = default;
};

/// One convolution, compiled for its shape. Overwrites its outputs. `workspace` has workspace()
/// bytes. Failures are reported with library_failed().
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual std::size_t workspace() const = 0;
  virtual void forward(GpuStream stream, const void* x, const void* w, void* y,
                       void* workspace) = 0;
  virtual void backward_data(GpuStream stream, const void* dy, const void* w, void* dx,
                             void* workspace) = 0;
  virtual void backward_weights(GpuStream stream, const void* x, const void* dy, void* dw,
                                void* workspace) = 0;
};

/// c = a b, or c += a b if run() is called with `add`. Row-major. a is [rows, depth], or [depth,
/// rows] if transposed; b is [depth, columns], or [columns, depth] if transposed; c is [rows,
/// columns]. Of several products, each array has its matrices one after another.
struct MatmulShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  DType in = DType::f32;
  DType out = DType::f32;
  bool tf32 = false;
  std::int64_t products = 1;
};

class Matmul {
 public:
  virtual ~Matmul() = default;
  virtual std::size_t workspace() const = 0;
  virtual void run(GpuStream stream, const void* a, const void* b, void* c, bool add,
                   void* workspace) = 0;
};

class EngineBook;  // trainer/backends/gpu/layers/engine_book.hpp

/// Creates operations, which may outlive it. bad_request or unavailable: the library does not
/// support the shape.
class MathLibrary {
 public:
  virtual ~MathLibrary() = default;
  virtual Result<std::unique_ptr<Convolution>> convolution(const ConvolutionShape& shape) = 0;
  virtual Result<std::unique_ptr<Matmul>> matmul(const MatmulShape& shape) = 0;
  /// Returns where the choices among engines are kept; nullptr: there is no choice.
  virtual std::shared_ptr<EngineBook> engine_book() { return nullptr; }
};

}  // namespace dllaunch::gpu
