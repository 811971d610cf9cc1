// Batch normalisations and sums over channels, as kernels one after the other.
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

/// What a normalisation reads and writes in one pass. Arrays of T; nullptr: none.
template <typename T>
struct NormPass {
  int node = 0;  // the normalisation's own
  Volume shape;
  std::int64_t rows = 0;  // that are present
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
  /// Reserves what all of the graph's normalisations, and sums for biases, need.
  NormLayers(const Graph& graph, const StepPlan& plan, const SumOverRanks& sum_over_ranks,
             DeviceMemory& memory);
  void start();  // once the memory is there: buffers as the graph says

  enum class Statistics { of_batch, running, as_they_are };
  /// Before the forward(of_batch) passes of a batch, which with sum_over_ranks count for
  /// themselves.
  void count_batch(std::int64_t rows);
  template <typename T>
  void forward(GpuStream stream, const NormPass<T>& pass, Statistics statistics);
  template <typename T>
  void backward(GpuStream stream, const NormPass<T>& pass);
  /// gradient[c] (+)= the sum of dy over all rows and pixels.
  template <typename T>
  void bias_backward(GpuStream stream, const Volume& shape, const T* dy, float* gradient, bool add);

  std::vector<double> buffer(int index) const;
  void set_buffer(int index, std::span<const double> values);

 private:
  struct Layer {
    BatchNorm op;
    std::int64_t channels = 0;
    std::int64_t pixels = 0;  // of an image
    int mean = -1;            // pieces of memory
    int inv_std = -1;
    int running_mean = -1;
    int running_var = -1;
    double batches = 0;  // num_batches_tracked
    double count = 0;    // values of a channel in the latest batch, of all ranks
  };
  struct BufferPlace {
    std::size_t node = 0;
    int which = 0;  // 0 mean, 1 var, 2 count of batches
  };
  template <typename T>
  void measure(GpuStream stream, const NormPass<T>& pass, Layer& layer);
  NormChannel channel(const Layer& layer, const float* weight, const float* bias) const;

  const Graph& graph_;
  const SumOverRanks& sum_over_ranks_;
  DeviceMemory& memory_;
  std::vector<Layer> layers_;        // by node; of others without channels
  std::vector<BufferPlace> places_;  // by index of Graph::buffers
  int partial_ = -1;                 // float, of chunks
  int joined_ = -1;                  // double [2, channels]
};

}  // namespace dllaunch::gpu
