#include <miopen/miopen.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/host_gpu/fake_libraries.hpp"

using namespace dllaunch;

using Five = std::array<std::ptrdiff_t, 5>;  // rows, channels, depth, height, width

struct miopenHandle {
  miopenAcceleratorQueue_t stream = nullptr;
};
struct miopenTensorDescriptor {
  DType type = DType::f32;
  Five sizes = {};
  Five strides = {};
};
struct miopenConvolutionDescriptor {
  std::array<std::ptrdiff_t, 3> padding = {};
  std::array<std::ptrdiff_t, 3> stride = {};
  std::array<std::ptrdiff_t, 3> dilation = {};
  std::array<int, 4> attributes = {-1, 0, 0, 0};
};

namespace {

enum class Pass { forward, data, weights };

/// A convolution in any direction: which role each of the caller's three tensors plays.
struct Problem {
  Pass pass;
  const miopenTensorDescriptor* x;
  const miopenTensorDescriptor* w;
  const miopenTensorDescriptor* y;
  const miopenConvolutionDescriptor* window;

  bool fits() const {
    if (x->type != w->type || x->type != y->type) return false;
    if (x->sizes[0] != y->sizes[0] || w->sizes[0] != y->sizes[1] || w->sizes[1] != x->sizes[1]) {
      return false;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto reach = window->dilation[axis] * (w->sizes[axis + 2] - 1) + 1;
      const auto room = x->sizes[axis + 2] + 2 * window->padding[axis] - reach;
      if (room < 0 || y->sizes[axis + 2] != room / window->stride[axis] + 1) return false;
    }
    return true;
  }
  std::string key(std::uint64_t solution) const {
    std::string text = std::to_string(static_cast<int>(pass)) + "," + std::to_string(solution);
    for (const auto* tensor : {x, w, y}) {
      text += "," + std::to_string(static_cast<int>(tensor->type));
      for (const auto size : tensor->sizes) text += "," + std::to_string(size);
      for (const auto stride : tensor->strides) text += "," + std::to_string(stride);
    }
    for (const auto* numbers : {&window->padding, &window->stride}) {
      for (const auto number : *numbers) text += "," + std::to_string(number);
    }
    return text;
  }
};
Problem forward_of(miopenTensorDescriptor_t w, miopenTensorDescriptor_t x,
                   miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t y) {
  return {Pass::forward, x, w, y, window};
}
Problem data_of(miopenTensorDescriptor_t dy, miopenTensorDescriptor_t w,
                miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dx) {
  return {Pass::data, dx, w, dy, window};
}
Problem weights_of(miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
                   miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dw) {
  return {Pass::weights, x, dw, dy, window};
}

std::set<std::string>& compiled() {
  static std::set<std::string> keys;
  return keys;
}

miopenConvSolution_t solution_of(std::uint64_t id) {
  switch (id) {
    case fake_winograd:
      return {.1F, 0, id, miopenConvolutionAlgoWinograd};
    case fake_fft:
      return {.2F, 4096, id, miopenConvolutionAlgoFFT};
    case fake_hungry:
      return {.3F, std::size_t{1} << 40, id, miopenConvolutionAlgoGEMM};
    case fake_uncompiled:
      return {.4F, 0, id, miopenConvolutionAlgoGEMM};
    case fake_implicit:
      return {.6F, 192, id, miopenConvolutionAlgoImplicitGEMM};
    case fake_direct:
      return {.7F, 0, id, miopenConvolutionAlgoDirect};
    default:
      return {.5F, 0, id, miopenConvolutionAlgoDirect};
  }
}

std::vector<miopenConvSolution_t> solutions_for(const Problem& problem) {
  const auto& attributes = problem.window->attributes;
  const auto& version = fake_miopen().version;
  const bool knows_tf32 = version >= std::vector<std::size_t>{3, 5, 2};
  std::vector<miopenConvSolution_t> named;
  for (const std::uint64_t id : fake_miopen().solutions) {
    if (id == fake_shuffled && attributes[1] == 1) continue;
    if (id == fake_rounded &&
        (problem.x->type != DType::f16 || problem.pass == Pass::forward || attributes[0] == 0)) {
      continue;
    }
    if (id == fake_tf32 && (!knows_tf32 || problem.x->type != DType::f32 || attributes[3] == 1)) {
      continue;
    }
    named.push_back(solution_of(id));
  }
  return named;
}

miopenStatus_t count_solutions(const Problem& problem, std::size_t* count) {
  *count = solutions_for(problem).size();
  return problem.fits() ? miopenStatusSuccess : miopenStatusBadParm;
}

miopenStatus_t name_solutions(const Problem& problem, std::size_t most, std::size_t* count,
                              miopenConvSolution_t* solutions) {
  if (!problem.fits()) return miopenStatusBadParm;
  const auto named = solutions_for(problem);
  *count = std::min(most, named.size());
  std::copy_n(named.begin(), *count, solutions);
  return miopenStatusSuccess;
}

miopenStatus_t compile(const Problem& problem, std::uint64_t solution) {
  const auto named = solutions_for(problem);
  if (std::ranges::find(named, solution, &miopenConvSolution_t::solution_id) == named.end()) {
    return miopenStatusBadParm;
  }
  if (solution == fake_uncompiled) return miopenStatusUnknownError;
  compiled().insert(problem.key(solution));
  return miopenStatusSuccess;
}

std::ptrdiff_t place(const miopenTensorDescriptor& tensor, const Five& at) {
  std::ptrdiff_t offset = 0;
  for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * tensor.strides[i];
  return offset;
}

/// Calls visit(index) for every element of a tensor.
template <typename Visit>
void for_each(const Five& sizes, const Visit& visit) {
  Five at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) {
        for (at[3] = 0; at[3] < sizes[3]; ++at[3]) {
          for (at[4] = 0; at[4] < sizes[4]; ++at[4]) visit(at);
        }
      }
    }
  }
}

/// Calls visit(y, x, w), offsets by the descriptors' strides, for every product.
template <typename Visit>
void for_each_product(const Problem& problem, const Visit& visit) {
  const auto& [pass, x, w, y, window] = problem;
  const Five taps = {1, 1, w->sizes[2], w->sizes[3], w->sizes[4]};
  for_each(y->sizes, [&](const Five& o) {
    const std::ptrdiff_t at_y = place(*y, o);
    for_each(taps, [&](const Five& tap) {
      Five from = {o[0]};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        from[axis + 2] = o[axis + 2] * window->stride[axis] - window->padding[axis] +
                         tap[axis + 2] * window->dilation[axis];
        if (from[axis + 2] < 0 || from[axis + 2] >= x->sizes[axis + 2]) return;
      }
      const std::ptrdiff_t at_x = place(*x, from);
      const std::ptrdiff_t at_w = place(*w, {o[1], 0, tap[2], tap[3], tap[4]});
      for (std::ptrdiff_t c = 0; c < x->sizes[1]; ++c) {
        visit(at_y, at_x + c * x->strides[1], at_w + c * w->strides[1]);
      }
    });
  });
}

void compute(const Problem& problem, const void* first, const void* second, void* result,
             const miopenTensorDescriptor& to, bool wrong) {
  const DType type = to.type;
  std::ptrdiff_t last = 0;
  for (std::size_t i = 0; i < to.sizes.size(); ++i) last += (to.sizes[i] - 1) * to.strides[i];
  std::vector<float> sums(static_cast<std::size_t>(last + 1));
  const auto add = [&](std::ptrdiff_t at, float product) {
    sums[static_cast<std::size_t>(at)] += product;
  };
  for_each_product(problem, [&](std::ptrdiff_t y, std::ptrdiff_t x, std::ptrdiff_t w) {
    if (problem.pass == Pass::forward) {
      add(y, fake_read(first, type, w) * fake_read(second, type, x));
    } else if (problem.pass == Pass::data) {
      add(x, fake_read(first, type, y) * fake_read(second, type, w));
    } else {
      add(w, fake_read(first, type, y) * fake_read(second, type, x));
    }
  });
  for_each(to.sizes, [&](const Five& at) {
    const std::ptrdiff_t i = place(to, at);
    const float sum = sums[static_cast<std::size_t>(i)];
    fake_write(result, type, i, wrong ? std::numeric_limits<float>::quiet_NaN() : sum);
  });
}

/// As strict as possible: rejects solutions that are not compiled, memory that is not on this
/// device, and any workspace but the requested one.
miopenStatus_t run(miopenHandle_t handle, const Problem& problem, const void* first,
                   const void* second, void* result, const miopenTensorDescriptor& to,
                   void* workspace, std::size_t workspace_size, std::uint64_t solution) {
  if (!compiled().contains(problem.key(solution))) return miopenStatusUnknownError;
  if (fake_miopen().fails.contains(solution)) return miopenStatusUnknownError;
  for (const void* memory : {first, second, static_cast<const void*>(result)}) {
    if (!fake_on_device(memory)) return miopenStatusBadParm;
  }
  const std::size_t wanted = solution_of(solution).workspace_size;
  if (workspace_size != wanted || (workspace == nullptr) != (wanted == 0)) {
    return miopenStatusBadParm;
  }
  if (wanted > 0) {
    if (!fake_on_device(workspace)) return miopenStatusBadParm;
  }
  fake_miopen().runs.push_back(solution);
  const auto takes = fake_miopen().takes.find(solution);
  if (takes != fake_miopen().takes.end()) std::this_thread::sleep_for(takes->second);
  const bool wrong = solution != fake_implicit && solution != fake_direct;
  host_gpu_compute(handle->stream, [=] {
    ++host_gpu_work();
    if (wanted > 0) std::memset(workspace, 0xFF, wanted);
    compute(problem, first, second, result, to, wrong);
  });
  return miopenStatusSuccess;
}

}  // namespace

const char* miopenGetErrorString(miopenStatus_t error) {
  return error == miopenStatusSuccess ? "success" : "the fake does not take that";
}
miopenStatus_t miopenGetVersion(std::size_t* major, std::size_t* minor, std::size_t* patch) {
  const auto& version = fake_miopen().version;
  *major = version[0];
  *minor = version[1];
  *patch = version[2];
  return miopenStatusSuccess;
}
miopenStatus_t miopenCreate(miopenHandle_t* handle) {
  if (!fake_miopen().starts) return miopenStatusUnknownError;
  *handle = new miopenHandle;
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroy(miopenHandle_t handle) {
  delete handle;
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetStream(miopenHandle_t handle, miopenAcceleratorQueue_t stream) {
  handle->stream = stream;
  fake_miopen().streams.push_back(stream);
  return miopenStatusSuccess;
}

miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* made) {
  *made = new miopenTensorDescriptor;
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensor) {
  delete tensor;
  return miopenStatusSuccess;
}
/// An image has depth one, in third place.
miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensor, miopenDataType_t type,
                                         int dimensions, const int* sizes, const int* strides) {
  if (dimensions != 4 && dimensions != 5) return miopenStatusBadParm;
  tensor->type = type == miopenHalf       ? DType::f16
                 : type == miopenBFloat16 ? DType::bf16
                                          : DType::f32;
  tensor->sizes = {sizes[0], sizes[1], 1};
  tensor->strides = {strides[0], strides[1], 0};
  for (int i = 2; i < dimensions; ++i) {
    const auto axis = static_cast<std::size_t>(i + 5 - dimensions);
    tensor->sizes[axis] = sizes[i];
    tensor->strides[axis] = strides[i];
  }
  return miopenStatusSuccess;
}
miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* made) {
  *made = new miopenConvolutionDescriptor;
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convolution) {
  delete convolution;
  return miopenStatusSuccess;
}
miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t convolution,
                                                 int dimensions, const int* padding,
                                                 const int* stride, const int* dilation,
                                                 miopenConvolutionMode_t mode) {
  if (mode != miopenConvolution || (dimensions != 2 && dimensions != 3)) return miopenStatusBadParm;
  convolution->padding = {};
  convolution->stride = {1, 1, 1};
  convolution->dilation = {1, 1, 1};
  for (int i = 0; i < dimensions; ++i) {
    const auto axis = static_cast<std::size_t>(i + 3 - dimensions);
    convolution->padding[axis] = padding[i];
    convolution->stride[axis] = stride[i];
    convolution->dilation[axis] = dilation[i];
  }
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convolution,
                                             miopenConvolutionAttrib_t name, int value) {
  const bool knows_tf32 = fake_miopen().version >= std::vector<std::size_t>{3, 5, 2};
  const int number = static_cast<int>(name);
  if (number < 0 || number > 3 || (number == 3 && !knows_tf32)) return miopenStatusBadParm;
  convolution->attributes[static_cast<std::size_t>(number)] = value;
  return miopenStatusSuccess;
}

miopenStatus_t miopenConvolutionForwardGetSolutionCount(miopenHandle_t, miopenTensorDescriptor_t w,
                                                        miopenTensorDescriptor_t x,
                                                        miopenConvolutionDescriptor_t window,
                                                        miopenTensorDescriptor_t y,
                                                        std::size_t* count) {
  return count_solutions(forward_of(w, x, window, y), count);
}
miopenStatus_t miopenConvolutionForwardGetSolution(miopenHandle_t, miopenTensorDescriptor_t w,
                                                   miopenTensorDescriptor_t x,
                                                   miopenConvolutionDescriptor_t window,
                                                   miopenTensorDescriptor_t y, std::size_t most,
                                                   std::size_t* count,
                                                   miopenConvSolution_t* solutions) {
  return name_solutions(forward_of(w, x, window, y), most, count, solutions);
}
miopenStatus_t miopenConvolutionForwardCompileSolution(miopenHandle_t, miopenTensorDescriptor_t w,
                                                       miopenTensorDescriptor_t x,
                                                       miopenConvolutionDescriptor_t window,
                                                       miopenTensorDescriptor_t y,
                                                       std::uint64_t solution) {
  return compile(forward_of(w, x, window, y), solution);
}
miopenStatus_t miopenConvolutionForwardImmediate(miopenHandle_t handle, miopenTensorDescriptor_t w,
                                                 const void* w_data, miopenTensorDescriptor_t x,
                                                 const void* x_data,
                                                 miopenConvolutionDescriptor_t window,
                                                 miopenTensorDescriptor_t y, void* y_data,
                                                 void* workspace, std::size_t workspace_size,
                                                 std::uint64_t solution) {
  return run(handle, forward_of(w, x, window, y), w_data, x_data, y_data, *y, workspace,
             workspace_size, solution);
}

miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t w,
    miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dx, std::size_t* count) {
  return count_solutions(data_of(dy, w, window, dx), count);
}
miopenStatus_t miopenConvolutionBackwardDataGetSolution(miopenHandle_t, miopenTensorDescriptor_t dy,
                                                        miopenTensorDescriptor_t w,
                                                        miopenConvolutionDescriptor_t window,
                                                        miopenTensorDescriptor_t dx,
                                                        std::size_t most, std::size_t* count,
                                                        miopenConvSolution_t* solutions) {
  return name_solutions(data_of(dy, w, window, dx), most, count, solutions);
}
miopenStatus_t miopenConvolutionBackwardDataCompileSolution(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t w,
    miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dx, std::uint64_t solution) {
  return compile(data_of(dy, w, window, dx), solution);
}
miopenStatus_t miopenConvolutionBackwardDataImmediate(
    miopenHandle_t handle, miopenTensorDescriptor_t dy, const void* dy_data,
    miopenTensorDescriptor_t w, const void* w_data, miopenConvolutionDescriptor_t window,
    miopenTensorDescriptor_t dx, void* dx_data, void* workspace, std::size_t workspace_size,
    std::uint64_t solution) {
  return run(handle, data_of(dy, w, window, dx), dy_data, w_data, dx_data, *dx, workspace,
             workspace_size, solution);
}

miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
    miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dw, std::size_t* count) {
  return count_solutions(weights_of(dy, x, window, dw), count);
}
miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
    miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dw, std::size_t most,
    std::size_t* count, miopenConvSolution_t* solutions) {
  return name_solutions(weights_of(dy, x, window, dw), most, count, solutions);
}
miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
    miopenConvolutionDescriptor_t window, miopenTensorDescriptor_t dw, std::uint64_t solution) {
  return compile(weights_of(dy, x, window, dw), solution);
}
miopenStatus_t miopenConvolutionBackwardWeightsImmediate(
    miopenHandle_t handle, miopenTensorDescriptor_t dy, const void* dy_data,
    miopenTensorDescriptor_t x, const void* x_data, miopenConvolutionDescriptor_t window,
    miopenTensorDescriptor_t dw, void* dw_data, void* workspace, std::size_t workspace_size,
    std::uint64_t solution) {
  return run(handle, weights_of(dy, x, window, dw), dy_data, x_data, dw_data, *dw, workspace,
             workspace_size, solution);
}
