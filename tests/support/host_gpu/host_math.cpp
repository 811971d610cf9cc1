#include "tests/support/host_gpu/host_math.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {
namespace {

constexpr std::size_t workspace_bytes = 96;

/// Like a library that cannot be captured: nothing was done.
bool library_refuses() {
  if (!host_gpus().refuses_library_calls || !host_gpu_captures()) return false;
  library_failed("host math", "not supported during stream capture");
  return true;
}

void spoil(void* workspace) {
  if (host_gpu_of(workspace) != host_gpu_of_thread()) std::abort();
  std::memset(workspace, 0xFF, workspace_bytes);
}

/// A float as a tensor core reads it with TF32.
float factor_of(float x, bool tf32) {
  return tf32 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~std::uint32_t{0x1FFF}) : x;
}

template <typename T>
class HostConvolution final : public Convolution {
 public:
  explicit HostConvolution(const ConvolutionShape& shape) : shape_(shape) {}
  std::size_t workspace() const override { return workspace_bytes; }

  void forward(GpuStream stream, const void* x, const void* w, void* y, void* workspace) override {
    if (library_refuses()) return;
    host_gpu_compute(stream, [=, this] { forward_now(x, w, y, workspace); });
  }
  void backward_data(GpuStream stream, const void* dy, const void* w, void* dx,
                     void* workspace) override {
    if (!shape_.backward_data) std::abort();
    if (library_refuses()) return;
    host_gpu_compute(stream, [=, this] { backward_data_now(dy, w, dx, workspace); });
  }
  void backward_weights(GpuStream stream, const void* x, const void* dy, void* dw,
                        void* workspace) override {
    if (!shape_.backward_weights) std::abort();
    if (library_refuses()) return;
    host_gpu_compute(stream, [=, this] { backward_weights_now(x, dy, dw, workspace); });
  }

 private:
  void forward_now(const void* x, const void* w, void* y, void* workspace) const {
    spoil(workspace);
    std::vector<float> sums(static_cast<std::size_t>(shape_.y.elements()));
    for_each_tap([&](std::int64_t iy, std::int64_t ix, std::int64_t iw) {
      sums[static_cast<std::size_t>(iy)] += at(x, ix) * at(w, iw);
    });
    write(sums, y);
  }
  void backward_data_now(const void* dy, const void* w, void* dx, void* workspace) const {
    spoil(workspace);
    std::vector<float> sums(static_cast<std::size_t>(shape_.x.elements()));
    for_each_tap([&](std::int64_t iy, std::int64_t ix, std::int64_t iw) {
      sums[static_cast<std::size_t>(ix)] += at(dy, iy) * at(w, iw);
    });
    write(sums, dx);
  }
  void backward_weights_now(const void* x, const void* dy, void* dw, void* workspace) const {
    spoil(workspace);
    std::vector<float> sums(
        static_cast<std::size_t>(shape_.y.channels * shape_.window.elements() * shape_.x.channels));
    for_each_tap([&](std::int64_t iy, std::int64_t ix, std::int64_t iw) {
      sums[static_cast<std::size_t>(iw)] += at(x, ix) * at(dy, iy);
    });
    write(sums, dw);
  }
  float at(const void* memory, std::int64_t i) const {
    return factor_of(get(static_cast<const T*>(memory)[i]), shape_.tf32);
  }
  static void write(const std::vector<float>& sums, void* to) {
    for (std::size_t i = 0; i < sums.size(); ++i) set(static_cast<T*>(to)[i], sums[i]);
  }

  /// Calls visit(y, x, w) for every product.
  template <typename Visit>
  void for_each_tap(const Visit& visit) const {
    const auto& [kernel, stride, padding] = shape_.window;
    const Volume weights{shape_.y.channels, kernel[0], kernel[1], kernel[2], shape_.x.channels};
    for (std::int64_t iy = 0; iy < shape_.y.elements(); ++iy) {
      const Coordinates o = coordinates_of(shape_.y, iy);
      for (std::int64_t tap = 0; tap < shape_.window.elements(); ++tap) {
        const std::int64_t q = tap / (kernel[1] * kernel[2]);
        const std::int64_t r = tap / kernel[2] % kernel[1];
        const std::int64_t s = tap % kernel[2];
        const std::int64_t d = o.d * stride[0] - padding[0] + q;
        const std::int64_t h = o.h * stride[1] - padding[1] + r;
        const std::int64_t w = o.w * stride[2] - padding[2] + s;
        const bool inside = d >= 0 && d < shape_.x.depth && h >= 0 && h < shape_.x.height &&
                            w >= 0 && w < shape_.x.width;
        if (!inside) continue;
        const std::int64_t from = shape_.x.at(o.row, d, h, w, 0);
        const std::int64_t weight = weights.at(o.c, q, r, s, 0);
        for (std::int64_t c = 0; c < shape_.x.channels; ++c) visit(iy, from + c, weight + c);
      }
    }
  }

  ConvolutionShape shape_;
};

template <typename In, typename Out>
class HostMatmul final : public Matmul {
 public:
  explicit HostMatmul(const MatmulShape& shape) : shape_(shape) {}
  std::size_t workspace() const override { return workspace_bytes; }

  void run(GpuStream stream, const void* a, const void* b, void* c, bool add,
           void* workspace) override {
    if (library_refuses()) return;
    host_gpu_compute(stream, [=, this] { run_now(a, b, c, add, workspace); });
  }

 private:
  void run_now(const void* a, const void* b, void* c, bool add, void* workspace) const {
    spoil(workspace);
    const auto& s = shape_;
    for (std::int64_t p = 0; p < s.products; ++p) {
      multiply(static_cast<const In*>(a) + p * s.rows * s.depth,
               static_cast<const In*>(b) + p * s.depth * s.columns,
               static_cast<Out*>(c) + p * s.rows * s.columns, add);
    }
  }

  void multiply(const In* a, const In* b, Out* c, bool add) const {
    const auto& s = shape_;
    const std::vector<float> left = rows_of(a, s.rows, s.depth, s.transpose_a);
    const std::vector<float> right = rows_of(b, s.depth, s.columns, s.transpose_b);
    std::vector<float> sums(static_cast<std::size_t>(s.columns));
    for (std::int64_t i = 0; i < s.rows; ++i) {
      std::ranges::fill(sums, 0.F);
      for (std::int64_t k = 0; k < s.depth; ++k) {
        const float factor = left[static_cast<std::size_t>(i * s.depth + k)];
        const float* const row = right.data() + k * s.columns;
        for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += factor * row[j];
      }
      for (std::size_t j = 0; j < sums.size(); ++j) put(c[j], sums[j], add);
      c += s.columns;
    }
  }
  /// Returns the matrix row by row.
  std::vector<float> rows_of(const In* matrix, std::int64_t rows, std::int64_t columns,
                             bool transposed) const {
    std::vector<float> all;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const In value = matrix[transposed ? j * rows + i : i * columns + j];
        all.push_back(factor_of(get(value), shape_.tf32));
      }
    }
    return all;
  }

  MatmulShape shape_;
};

template <typename T>
std::unique_ptr<Matmul> matmul_of(const MatmulShape& shape) {
  if (shape.out == DType::f32) return std::make_unique<HostMatmul<T, float>>(shape);
  return std::make_unique<HostMatmul<T, T>>(shape);
}

std::unique_ptr<Convolution> convolution_of(const ConvolutionShape& shape) {
  switch (shape.type) {
    case DType::f16:
      return std::make_unique<HostConvolution<Float16>>(shape);
    case DType::bf16:
      return std::make_unique<HostConvolution<BFloat16>>(shape);
    default:
      return std::make_unique<HostConvolution<float>>(shape);
  }
}

std::unique_ptr<Matmul> matmul_of(const MatmulShape& shape) {
  switch (shape.in) {
    case DType::f16:
      return matmul_of<Float16>(shape);
    case DType::bf16:
      return matmul_of<BFloat16>(shape);
    default:
      return matmul_of<float>(shape);
  }
}

class HostMath final : public MathLibrary {
 public:
  Result<std::unique_ptr<Convolution>> convolution(const ConvolutionShape& shape) override {
    return convolution_of(shape);
  }
  Result<std::unique_ptr<Matmul>> matmul(const MatmulShape& shape) override {
    return matmul_of(shape);
  }
};

std::string run_engine(const EngineId& id, Convolution& by, Pass pass, GpuStream stream,
                       const ConvolutionMemory& at) {
  HostEngines& engines = host_engines();
  if (engines.fails.contains(id)) return "the engine fails";
  engines.runs.push_back(id);
  if (pass == Pass::forward) by.forward(stream, at.x, at.w, at.y, at.workspace);
  if (pass == Pass::backward_data) by.backward_data(stream, at.y, at.w, at.x, at.workspace);
  if (pass == Pass::backward_weights) by.backward_weights(stream, at.x, at.y, at.w, at.workspace);
  return "";
}

class HostEngineMath final : public EngineLibrary {
 public:
  explicit HostEngineMath(std::shared_ptr<EngineBook> book)
      : EngineLibrary("host engines", std::move(book)) {}
  Result<std::unique_ptr<Matmul>> matmul(const MatmulShape& shape) override {
    return matmul_of(shape);
  }

 private:
  Result<PassEngines> engines(const ConvolutionShape& shape, Pass pass) override {
    return PassEngines{.list = [] { return host_engines().listed; },
                       .plan = [shape, pass](const EngineId& id) -> std::optional<EnginePlan> {
                         HostEngines& all = host_engines();
                         const auto known = std::ranges::find(all.listed, id, &Engine::id);
                         if (known == all.listed.end()) return std::nullopt;
                         all.planned.push_back(id);
                         const std::shared_ptr<Convolution> by = convolution_of(shape);
                         return EnginePlan{
                             .id = id,
                             .relaxation = known->relaxation,
                             .workspace = workspace_bytes,
                             .run = [=](GpuStream stream, const ConvolutionMemory& at) {
                               return run_engine(id, *by, pass, stream, at);
                             }};
                       }};
  }
};

}  // namespace

std::unique_ptr<MathLibrary> make_host_math() {
  return std::make_unique<HostMath>();
}

std::unique_ptr<MathLibrary> make_host_engines(std::shared_ptr<EngineBook> book) {
  return std::make_unique<HostEngineMath>(std::move(book));
}

}  // namespace dllaunch::gpu
