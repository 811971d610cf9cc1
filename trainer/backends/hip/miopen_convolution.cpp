#include "trainer/backends/hip/miopen_convolution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/layers/convolution_extents.hpp"

namespace dllaunch::miopen {
namespace {

using gpu::ConvolutionShape;
using gpu::Pass;

/// Since this version, float convolutions may use TF32 unless the attribute `math_type` forbids it.
/// Older headers do not define the attribute.
constexpr int tf32_since = 30502;
constexpr int math_type = 3;
constexpr int pedantic = 1;

/// Few, since each is compiled before it can run. MIOpen orders them by measurements or estimates.
constexpr std::size_t max_solutions = 3;

miopenDataType_t type_of(DType type) {
  if (type == DType::f16) return miopenHalf;
  return type == DType::bf16 ? miopenBFloat16 : miopenFloat;
}

Error refusal(std::string_view call, miopenStatus_t status) {
  return {ErrorKind::unavailable, fmt::format("MIOpen: {}: {}", call, miopenGetErrorString(status)),
          ""};
}

template <typename Raw, miopenStatus_t (*create)(Raw*), miopenStatus_t (*destroy)(Raw)>
class Descriptor {
 public:
  Descriptor() { status_ = create(&raw_); }
  ~Descriptor() {
    if (raw_ != nullptr) destroy(raw_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Raw raw() const { return raw_; }
  miopenStatus_t status() const { return status_; }

 private:
  Raw raw_ = nullptr;
  miopenStatus_t status_ = miopenStatusSuccess;
};
using Tensor = Descriptor<miopenTensorDescriptor_t, miopenCreateTensorDescriptor,
                          miopenDestroyTensorDescriptor>;
using Window = Descriptor<miopenConvolutionDescriptor_t, miopenCreateConvolutionDescriptor,
                          miopenDestroyConvolutionDescriptor>;

/// Returns the numbers as int, which MIOpen uses; nullopt if one does not fit.
std::optional<std::vector<int>> ints_of(const std::vector<std::int64_t>& numbers) {
  std::vector<int> ints;
  for (const std::int64_t number : numbers) {
    if (number > std::numeric_limits<int>::max()) return std::nullopt;
    ints.push_back(static_cast<int>(number));
  }
  return ints;
}

/// Which tensor an array is: x, weights or y, or its gradient.
enum class Role { x, w, y };

/// MIOpen's functions for one pass. Each takes two input tensors and one output, in the pass's
/// order.
struct Calls {
  decltype(&miopenConvolutionForwardGetSolutionCount) count;
  decltype(&miopenConvolutionForwardGetSolution) solutions;
  decltype(&miopenConvolutionForwardCompileSolution) compile;
  decltype(&miopenConvolutionForwardImmediate) run;
  Role first;
  Role second;
  Role result;
};
const Calls& calls_of(Pass pass) {
  static const Calls forward{miopenConvolutionForwardGetSolutionCount,
                             miopenConvolutionForwardGetSolution,
                             miopenConvolutionForwardCompileSolution,
                             miopenConvolutionForwardImmediate,
                             Role::w,
                             Role::x,
                             Role::y};
  static const Calls data{miopenConvolutionBackwardDataGetSolutionCount,
                          miopenConvolutionBackwardDataGetSolution,
                          miopenConvolutionBackwardDataCompileSolution,
                          miopenConvolutionBackwardDataImmediate,
                          Role::y,
                          Role::w,
                          Role::x};
  static const Calls weights{miopenConvolutionBackwardWeightsGetSolutionCount,
                             miopenConvolutionBackwardWeightsGetSolution,
                             miopenConvolutionBackwardWeightsCompileSolution,
                             miopenConvolutionBackwardWeightsImmediate,
                             Role::y,
                             Role::x,
                             Role::w};
  if (pass == Pass::forward) return forward;
  return pass == Pass::backward_data ? data : weights;
}

class MiopenConvolution final : public gpu::Convolution {
 public:
  MiopenConvolution(std::shared_ptr<Handle> handle, const ConvolutionShape& shape)
      : handle_(std::move(handle)), shape_(shape) {}

  Result<Ok> prepare(const gpu::AutotuneCache& cache) {
    auto described = describe();
    for (const auto& [pass, wanted] :
         {std::pair(Pass::forward, true), std::pair(Pass::backward_data, shape_.backward_data),
          std::pair(Pass::backward_weights, shape_.backward_weights)}) {
      if (!described) break;
      if (wanted) described = choose(cache, pass);
    }
    return described;
  }

  std::size_t workspace() const override {
    std::size_t most = 0;
    for (const miopenConvSolution_t& solution : chosen_) {
      most = std::max(most, solution.workspace_size);
    }
    return most;
  }
  void forward(GpuStream stream, const void* x, const void* w, void* y, void* workspace) override {
    run(Pass::forward, stream, w, x, y, workspace);
  }
  void backward_data(GpuStream stream, const void* dy, const void* w, void* dx,
                     void* workspace) override {
    run(Pass::backward_data, stream, dy, w, dx, workspace);
  }
  void backward_weights(GpuStream stream, const void* x, const void* dy, void* dw,
                        void* workspace) override {
    run(Pass::backward_weights, stream, dy, x, dw, workspace);
  }

 private:
  miopenTensorDescriptor_t tensor(Role role) const {
    return tensors_[static_cast<std::size_t>(role)].raw();
  }
  miopenConvSolution_t& chosen(Pass pass) { return chosen_[static_cast<std::size_t>(pass)]; }

  Result<Ok> describe() {
    const bool flat = is_flat(shape_);
    const gpu::Volume volumes[] = {shape_.x, weights_of(shape_), shape_.y};
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].status() != miopenStatusSuccess) {
        return refusal("tensor", tensors_[i].status());
      }
      const gpu::Extents extents = extents_of(volumes[i], flat);
      const auto sizes = ints_of(extents.sizes);
      const auto strides = ints_of(extents.strides);
      if (!sizes || !strides) {
        return Error{ErrorKind::bad_request,
                     fmt::format("MIOpen: convolution {} exceeds its 32-bit sizes",
                                 text_of(shape_, Pass::forward)),
                     "use a smaller batch_size"};
      }
      const miopenStatus_t status = miopenSetTensorDescriptor(
          tensors_[i].raw(), type_of(shape_.type), static_cast<int>(sizes->size()), sizes->data(),
          strides->data());
      if (status != miopenStatusSuccess) return refusal("tensor", status);
    }
    return describe_window(flat);
  }

  Result<Ok> describe_window(bool flat) {
    const auto padding = ints_of(gpu::axes_of(shape_.window.padding, flat));
    const auto stride = ints_of(gpu::axes_of(shape_.window.stride, flat));
    if (!padding || !stride) return refusal("window", miopenStatusBadParm);
    const std::vector<int> ones(padding->size(), 1);
    miopenStatus_t status = window_.status();
    if (status == miopenStatusSuccess) {
      status = miopenInitConvolutionNdDescriptor(window_.raw(), static_cast<int>(padding->size()),
                                                 padding->data(), stride->data(), ones.data(),
                                                 miopenConvolution);
    }
    if (status != miopenStatusSuccess) return refusal("window", status);
    // Without FP16_ALT_IMPL = 0, gfx90a would round f16 inputs to bf16 in the backward passes.
    std::vector<std::pair<int, int>> attributes = {{MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1},
                                                   {MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL, 0}};
    if (loaded_version() >= tf32_since) attributes.emplace_back(math_type, pedantic);
    for (const auto& [name, value] : attributes) {
      status = miopenSetConvolutionAttribute(window_.raw(),
                                             static_cast<miopenConvolutionAttrib_t>(name), value);
      if (status != miopenStatusSuccess) return refusal("exact convolution", status);
    }
    return Ok{};
  }

  /// Returns allowed solutions that compile, in MIOpen's order; with `wanted`, only that one.
  std::vector<miopenConvSolution_t> candidates(Pass pass, std::optional<std::int64_t> wanted) {
    const Calls& call = calls_of(pass);
    std::size_t count = 0;
    if (call.count(handle_->raw(), tensor(call.first), tensor(call.second), window_.raw(),
                   tensor(call.result), &count) != miopenStatusSuccess) {
      return {};
    }
    std::vector<miopenConvSolution_t> all(count);
    if (call.solutions(handle_->raw(), tensor(call.first), tensor(call.second), window_.raw(),
                       tensor(call.result), all.size(), &count,
                       all.data()) != miopenStatusSuccess) {
      return {};
    }
    all.resize(std::min(count, all.size()));
    std::erase_if(all, [&wanted](const miopenConvSolution_t& one) {
      return !is_allowed(one.algorithm) || one.workspace_size > gpu::max_workspace ||
             (wanted && static_cast<std::int64_t>(one.solution_id) != *wanted);
    });
    std::vector<miopenConvSolution_t> ready;
    for (const miopenConvSolution_t& one : all) {
      if (ready.size() < max_solutions && compiles(pass, one)) ready.push_back(one);
    }
    return ready;
  }

  /// Compiles the solution's kernels. Returns whether MIOpen could.
  bool compiles(Pass pass, const miopenConvSolution_t& solution) {
    const Calls& call = calls_of(pass);
    return call.compile(handle_->raw(), tensor(call.first), tensor(call.second), window_.raw(),
                        tensor(call.result), solution.solution_id) == miopenStatusSuccess;
  }

  Result<Ok> choose(const gpu::AutotuneCache& cache, Pass pass) {
    const std::string key =
        fmt::format("{},miopen{},{}", cache.gpu, loaded_version(), text_of(shape_, pass));
    const auto known = gpu::cached_algorithm(cache, key);
    auto solutions = candidates(pass, known);
    const bool is_new = !known || solutions.empty();
    if (known && solutions.empty()) solutions = candidates(pass, std::nullopt);
    if (solutions.empty()) {
      return Error{ErrorKind::unavailable,
                   fmt::format("MIOpen has no solution for convolution {}", text_of(shape_, pass)),
                   ""};
    }
    std::vector<std::size_t> workspaces;
    for (const auto& one : solutions) workspaces.push_back(one.workspace_size);
    const auto best = gpu::fastest_algorithm(
        shape_, workspaces, [&](std::size_t i, const gpu::ConvolutionMemory& memory) {
          chosen(pass) = solutions[i];
          return try_out(pass, memory);
        });
    if (!best) {
      return Error{
          ErrorKind::unavailable,
          fmt::format("all MIOpen solutions fail for convolution {}", text_of(shape_, pass)), ""};
    }
    chosen(pass) = solutions[best->index];
    if (is_new && best->cacheable) {
      gpu::cache_algorithm(cache, key, static_cast<std::int64_t>(chosen(pass).solution_id));
    }
    return Ok{};
  }

  bool try_out(Pass pass, const gpu::ConvolutionMemory& memory) {
    const std::array<void*, 3> by_role = {memory.x, memory.w, memory.y};
    const auto at = [&by_role](Role role) { return by_role[static_cast<std::size_t>(role)]; };
    const Calls& call = calls_of(pass);
    return try_to_run(pass, nullptr, at(call.first), at(call.second), at(call.result),
                      memory.workspace) == miopenStatusSuccess;
  }

  miopenStatus_t try_to_run(Pass pass, GpuStream stream, const void* first, const void* second,
                            void* result, void* workspace) {
    const Calls& call = calls_of(pass);
    const miopenConvSolution_t& solution = chosen(pass);
    const miopenStatus_t status = handle_->use(stream);
    if (status != miopenStatusSuccess) return status;
    // MIOpen rejects a non-null workspace of zero bytes.
    return call.run(handle_->raw(), tensor(call.first), first, tensor(call.second), second,
                    window_.raw(), tensor(call.result), result,
                    solution.workspace_size > 0 ? workspace : nullptr, solution.workspace_size,
                    solution.solution_id);
  }

  void run(Pass pass, GpuStream stream, const void* first, const void* second, void* result,
           void* workspace) {
    const miopenStatus_t status = try_to_run(pass, stream, first, second, result, workspace);
    if (status != miopenStatusSuccess) {
      gpu::library_failed("MIOpen", fmt::format("convolution: {}", miopenGetErrorString(status)));
    }
  }

  std::shared_ptr<Handle> handle_;
  ConvolutionShape shape_;
  std::array<Tensor, 3> tensors_;
  Window window_;
  std::array<miopenConvSolution_t, 3> chosen_ = {};
};

}  // namespace

int loaded_version() {
  std::size_t major = 0;
  std::size_t minor = 0;
  std::size_t patch = 0;
  if (miopenGetVersion(&major, &minor, &patch) != miopenStatusSuccess) return 0;
  return static_cast<int>(major * 10000 + minor * 100 + patch);
}

bool is_allowed(miopenConvAlgorithm_t algorithm) {
  return algorithm == miopenConvolutionAlgoGEMM || algorithm == miopenConvolutionAlgoDirect ||
         algorithm == miopenConvolutionAlgoImplicitGEMM;
}

Result<Ok> Handle::open() {
  const miopenStatus_t status = miopenCreate(&raw_);
  if (status == miopenStatusSuccess) return Ok{};
  raw_ = nullptr;
  return Error{ErrorKind::unavailable,
               fmt::format("MIOpen cannot start: {}", miopenGetErrorString(status)), ""};
}

miopenStatus_t Handle::use(GpuStream stream) {
  if (stream == stream_) return miopenStatusSuccess;
  const miopenStatus_t status = miopenSetStream(raw_, stream);
  if (status == miopenStatusSuccess) stream_ = stream;
  return status;
}

Result<std::unique_ptr<gpu::Convolution>> make_convolution(std::shared_ptr<Handle> handle,
                                                           const gpu::AutotuneCache& cache,
                                                           const ConvolutionShape& shape) {
  if (shape.tf32) {
    return Error{ErrorKind::bad_request, "MIOpen: TF32 convolutions are not supported", ""};
  }
  auto made = std::make_unique<MiopenConvolution>(std::move(handle), shape);
  auto prepared = made->prepare(cache);
  if (!prepared) return std::move(prepared).error();
  return std::unique_ptr<gpu::Convolution>(std::move(made));
}

}  // namespace dllaunch::miopen
