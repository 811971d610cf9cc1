// Batch normalisations and bias gradients: sequences of kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

/// A normalisation's arrays for one pass: activations of T; nullptr: none.
template <typename T>
struct NormPass {
  int node = 0;  // the batch normalisation
  Volume shape;
  std::int64_t rows = 0;  // present images
  const T* x = nullptr;
  const T* other = nullptr;
  T* y = nullptr;
  bool relu = false;
  const float* weight = nullptr;
  const float* bias = nullptr;
  // Backward:
  const T* dy = nullptr;
  T* dx = nullptr;
  T* dother = nullptr;
  float* dweight = nullptr;
  float* dbias = nullptr;
  bool add_weights = false;
  bool add = false;
  bool add_other = false;
};

class NormLayers {
 public:
  /// Reserves the arrays of all normalisations and bias gradients in `memory`.
  NormLayers(const Graph& graph, const StepPlan& plan, const SumOverRanks& sum_over_ranks,
             DeviceMemory& memory);
  /// Sets the buffers to their initial values. Call once after the memory is allocated.
  void start();

  enum class Statistics { of_batch, running, unchanged };
  /// Sets the number of images before the forward(of_batch) passes of a batch. With sum_over_ranks,
  /// those sum the counts themselves.
  void count_batch(std::int64_t rows);
  template <typename T>
  void forward(GpuStream stream, const NormPass<T>& pass, Statistics statistics);
  template <typename T>
  void backward(GpuStream stream, const NormPass<T>& pass);
  /// gradient[c] = sum of dy over all rows and pixels, or += if `add`.
  template <typename T>
  void bias_backward(GpuStream stream, const Volume& shape, const T* dy, float* gradient, bool add);

  std::vector<double> buffer(int index) const;
  void set_buffer(int index, std::span<const double> values);

 private:
  struct Layer {
    BatchNorm op;
    std::int64_t channels = 0;
    std::int64_t pixels = 0;  // of an image
    int mean = -1;            // indexes into memory_
    int inv_std = -1;
    int running_mean = -1;
    int running_var = -1;
    double batches = 0;  // num_batches_tracked
    double count = 0;    // values per channel in the latest batch, over all ranks
  };
  struct BufferPlace {
    std::size_t node = 0;
    int which = 0;  // 0: mean, 1: var, 2: num_batches_tracked
  };
  template <typename T>
  void measure(GpuStream stream, const NormPass<T>& pass, Layer& layer);
  NormChannel channel(const Layer& layer, const float* weight, const float* bias) const;

  const Graph& graph_;
  const SumOverRanks& sum_over_ranks_;
  DeviceMemory& memory_;
  std::vector<Layer> layers_;        // by node; channels is 0 for other nodes
  std::vector<BufferPlace> places_;  // by index of Graph::buffers
  int partial_ = -1;                 // float, per chunk
  int joined_ = -1;                  // double [2, channels]
  int means_ = -1;                   // float [2, channels], backward
};

}  // namespace dllaunch::gpu
