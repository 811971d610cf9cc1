#include "trainer/backends/cuda/cudnn_convolution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::cudnn {
namespace {

using gpu::ConvolutionShape;

constexpr std::size_t max_engines = 32;  // requested from each heuristic

/// An execution plan: an engine configured for one pass of one shape.
struct Plan {
  Descriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::size_t workspace = 0;  // bytes
  std::int64_t position = 0;  // in the heuristics' list
};

/// One pass of a convolution, and everything that its plan refers to.
struct PassPlan {
  ConvolutionGraph operation;
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<Descriptor> engines = {};
  Plan chosen = {};
};

std::vector<Descriptor> engines_for(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode)
      .finish();
  std::vector<Descriptor> engines;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::size_t i = 0; i < max_engines; ++i) {
    engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(engines.back().raw());
  }
  std::int64_t count = 0;
  if (!heuristics.good() ||
      cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, max_engines, &count,
                               raw.data()) != CUDNN_STATUS_SUCCESS) {
    count = 0;
  }
  engines.erase(engines.begin() + std::min<std::int64_t>(count, std::ssize(engines)),
                engines.end());
  return engines;
}

bool is_engine_allowed(const Descriptor& config, const gpu::Numerics& numerics) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(config.raw(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                               &raw) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  const auto notes = engine.get<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return is_allowed(notes, numerics);
}

std::optional<Plan> plan_with(const Handle& handle, const Descriptor& config) {
  Plan made;
  made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle.raw())
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
      .finish();
  const auto bytes =
      made.plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
  if (bytes.empty()) return std::nullopt;
  made.workspace = static_cast<std::size_t>(bytes.front());
  if (made.workspace > gpu::max_workspace) return std::nullopt;
  return made;
}

/// On the GPU; images or their gradients, weights, results, each read or written as the plan says.
struct Arrays {
  const void* x;
  const void* w;
  const void* y;
  void* workspace;
};

/// Returns cuDNN's error message; empty: success.
std::string try_to_execute(const Handle& handle, const Plan& plan, GpuStream stream,
                           const Arrays& at) {
  const std::array<std::int64_t, 3> ids = {id_of_x, id_of_w, id_of_y};
  const std::array<const void*, 3> pointers = {at.x, at.w, at.y};
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.numbers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           std::span<const void* const>(pointers))
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, at.workspace)
      .finish();
  if (!pack.good()) return pack.error().what;
  cudnnStatus_t status = cudnnSetStream(handle.raw(), stream);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnnBackendExecute(handle.raw(), plan.plan.raw(), pack.raw());
  }
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return fmt::format("convolution: {}", cudnnGetErrorString(status));
}

void execute(const Handle& handle, const Plan& plan, GpuStream stream, const Arrays& at) {
  std::string why = try_to_execute(handle, plan, stream, at);
  if (!why.empty()) gpu::library_failed("cuDNN", std::move(why));
}

std::optional<gpu::Fastest> fastest(const Handle& handle, const std::vector<Plan>& plans,
                                    const ConvolutionShape& shape) {
  std::vector<std::size_t> workspaces;
  workspaces.reserve(plans.size());
  for (const Plan& plan : plans) workspaces.push_back(plan.workspace);
  return gpu::fastest_algorithm(
      shape, workspaces, [&](std::size_t i, const gpu::ConvolutionMemory& memory) {
        return try_to_execute(handle, plans[i], nullptr,
                              {memory.x, memory.w, memory.y, memory.workspace})
            .empty();
      });
}

/// Returns plans of the allowed engines in the heuristics' order; with `wanted`, only of the engine
/// at that position.
std::vector<Plan> candidates(const Handle& handle, const std::vector<Descriptor>& engines,
                             const gpu::Numerics& numerics, std::optional<std::int64_t> wanted) {
  std::vector<Plan> plans;
  for (std::int64_t i = 0; i < std::ssize(engines) && plans.size() < gpu::max_candidates; ++i) {
    if (wanted && i != *wanted) continue;
    const Descriptor& engine = engines[static_cast<std::size_t>(i)];
    if (!is_engine_allowed(engine, numerics)) continue;
    if (auto plan = plan_with(handle, engine)) {
      plan->position = i;
      plans.push_back(*std::move(plan));
    }
  }
  return plans;
}

Result<PassPlan> plan_pass(const Handle& handle, const gpu::AutotuneCache& cache,
                           const ConvolutionShape& shape, Pass pass) {
  auto operation = convolution_graph(shape, pass);
  if (!operation) return std::move(operation).error();
  PassPlan made{.operation = *std::move(operation)};
  made.graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, made.operation.operation)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle.raw())
      .finish();
  if (!made.graph.good()) return made.graph.error();
  made.engines = engines_for(made.graph, CUDNN_HEUR_MODE_A);
  for (Descriptor& more : engines_for(made.graph, CUDNN_HEUR_MODE_FALLBACK)) {
    made.engines.push_back(std::move(more));
  }
  const std::string key =
      fmt::format("{},cudnn{},{}", cache.gpu, cudnnGetVersion(), text_of(shape, pass));
  const gpu::Numerics numerics{.type = shape.type, .tf32 = shape.tf32};
  std::vector<Plan> plans;
  if (const auto known = gpu::cached_algorithm(cache, key)) {
    plans = candidates(handle, made.engines, numerics, known);
  }
  const bool is_new = plans.empty();
  if (is_new) plans = candidates(handle, made.engines, numerics, std::nullopt);
  if (plans.empty()) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cuDNN has no engine for convolution {}", text_of(shape, pass)), ""};
  }
  const auto best = fastest(handle, plans, shape);
  if (!best) {
    return Error{ErrorKind::unavailable,
                 fmt::format("all cuDNN engines fail for convolution {}", text_of(shape, pass)),
                 ""};
  }
  made.chosen = std::move(plans[best->index]);
  if (is_new && best->cacheable) gpu::cache_algorithm(cache, key, made.chosen.position);
  return made;
}

class CudnnConvolution final : public gpu::Convolution {
 public:
  explicit CudnnConvolution(std::shared_ptr<const Handle> handle) : handle_(std::move(handle)) {}

  Result<Ok> prepare(const gpu::AutotuneCache& cache, const ConvolutionShape& shape) {
    const std::pair<Pass, std::optional<PassPlan>*> wanted[] = {
        {Pass::forward, &forward_},
        {Pass::backward_data, shape.backward_data ? &data_ : nullptr},
        {Pass::backward_weights, shape.backward_weights ? &weights_ : nullptr}};
    for (const auto& [pass, plan] : wanted) {
      if (plan == nullptr) continue;
      auto made = plan_pass(*handle_, cache, shape, pass);
      if (!made) return std::move(made).error();
      workspace_ = std::max(workspace_, made->chosen.workspace);
      *plan = *std::move(made);
    }
    return Ok{};
  }

  std::size_t workspace() const override { return workspace_; }
  void forward(GpuStream stream, const void* x, const void* w, void* y, void* workspace) override {
    execute(*handle_, forward_->chosen, stream, {x, w, y, workspace});
  }
  void backward_data(GpuStream stream, const void* dy, const void* w, void* dx,
                     void* workspace) override {
    execute(*handle_, data_->chosen, stream, {dx, w, dy, workspace});
  }
  void backward_weights(GpuStream stream, const void* x, const void* dy, void* dw,
                        void* workspace) override {
    execute(*handle_, weights_->chosen, stream, {x, dw, dy, workspace});
  }

 private:
  std::shared_ptr<const Handle> handle_;
  std::optional<PassPlan> forward_;
  std::optional<PassPlan> data_;
  std::optional<PassPlan> weights_;
  std::size_t workspace_ = 0;
};

}  // namespace

Result<Ok> Handle::open() {
  const cudnnStatus_t status = cudnnCreate(&raw_);
  if (status == CUDNN_STATUS_SUCCESS) return Ok{};
  raw_ = nullptr;
  return Error{ErrorKind::unavailable,
               fmt::format("cuDNN cannot start: {}", cudnnGetErrorString(status)), ""};
}

Result<std::unique_ptr<gpu::Convolution>> make_convolution(std::shared_ptr<const Handle> handle,
                                                           const gpu::AutotuneCache& cache,
                                                           const ConvolutionShape& shape) {
  auto made = std::make_unique<CudnnConvolution>(std::move(handle));
  auto prepared = made->prepare(cache, shape);
  if (!prepared) return std::move(prepared).error();
  return std::unique_ptr<gpu::Convolution>(std::move(made));
}

}  // namespace dllaunch::cudnn
