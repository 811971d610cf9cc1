// What a vendor's libraries do for a GPU backend: convolutions and products of matrices. cuDNN and
// cuBLASLt for CUDA; plain loops on the host in the tests.
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

/// What a library is given and gives: f32, bf16 or f16, products always added up in float.
struct Numerics {
  DType type = DType::f32;
  bool tf32 = false;  // of f32: factors may be cut to 10 bits of mantissa
  bool operator==(const Numerics&) const = default;
};

/// x and y channels last, weights [y.channels, kernel..., x.channels], all of `type`. Which passes
/// will be asked for.
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

/// All results are overwritten. `workspace` has workspace() bytes. Failures die().
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

/// c[rows, columns] = a b, or += where run() is told so. Row by row; a is [rows, depth], transposed
/// [depth, rows]; b is [depth, columns], transposed [columns, depth].
struct MatmulShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  DType in = DType::f32;
  DType out = DType::f32;
  bool tf32 = false;
};

class Matmul {
 public:
  virtual ~Matmul() = default;
  virtual std::size_t workspace() const = 0;
  virtual void run(GpuStream stream, const void* a, const void* b, void* c, bool add,
                   void* workspace) = 0;
};

/// bad_request or unavailable: what the library cannot do, by name. What it makes may outlive it.
class MathLibrary {
 public:
  virtual ~MathLibrary() = default;
  virtual Result<std::unique_ptr<Convolution>> convolution(const ConvolutionShape& shape) = 0;
  virtual Result<std::unique_ptr<Matmul>> matmul(const MatmulShape& shape) = 0;
};

}  // namespace dllaunch::gpu
