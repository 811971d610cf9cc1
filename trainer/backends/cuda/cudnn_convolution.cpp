#include "trainer/backends/cuda/cudnn_convolution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace dllaunch::cudnn {
namespace {

using gpu::EngineId;

constexpr std::size_t max_engines = 32;  // requested from each heuristic

std::vector<Descriptor> descriptors(cudnnBackendDescriptorType_t kind, std::size_t count) {
  std::vector<Descriptor> made;
  for (std::size_t i = 0; i < count; ++i) made.emplace_back(kind);
  return made;
}

/// Returns an attribute that is an array of at most `most` descriptors; empty after a failure.
std::vector<Descriptor> get_all(const Descriptor& from, cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t kind, std::size_t most) {
  std::vector<Descriptor> made = descriptors(kind, most);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& one : made) raw.push_back(one.raw());
  std::int64_t count = 0;
  if (!from.good() || cudnnBackendGetAttribute(from.raw(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                               static_cast<std::int64_t>(most), &count,
                                               raw.data()) != CUDNN_STATUS_SUCCESS) {
    count = 0;
  }
  made.erase(made.begin() + std::min<std::int64_t>(count, std::ssize(made)), made.end());
  return made;
}

/// An engine with its settings.
struct Configured {
  EngineId id;
  gpu::Relaxation relaxation = gpu::Relaxation::none;
  Descriptor config;
  std::vector<Descriptor> parts = {};  // that config refers to
};

gpu::Relaxation relaxation_of_engine(const Descriptor& engine, const gpu::Numerics& numerics) {
  return relaxation_of(engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                               CUDNN_TYPE_NUMERICAL_NOTE,
                                                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT),
                       numerics);
}

/// Describes a configuration of the heuristics; nullopt: cuDNN does not say which engine it is.
std::optional<Configured> described(Descriptor config, const gpu::Numerics& numerics) {
  const auto engine =
      get_all(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engine.empty()) return std::nullopt;
  Configured made{
      .id = engine[0].get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64),
      .relaxation = relaxation_of_engine(engine[0], numerics),
      .config = std::move(config)};
  if (made.id.empty()) return std::nullopt;
  for (const Descriptor& knob :
       get_all(made.config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
               CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type =
        knob.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    const auto value = knob.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64);
    if (type.empty() || value.empty()) return std::nullopt;
    made.id.insert(made.id.end(), {static_cast<std::int64_t>(type[0]), value[0]});
  }
  return made;
}

/// The reverse of described().
std::optional<Configured> configured(const Descriptor& graph, const EngineId& id,
                                     const gpu::Numerics& numerics) {
  if (id.size() % 2 == 0) return std::nullopt;
  std::vector<Descriptor> parts = descriptors(CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  parts[0]
      .set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
      .number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, id[0])
      .finish();
  std::vector<cudnnBackendDescriptor_t> knobs;
  for (std::size_t i = 1; i < id.size(); i += 2) {
    Descriptor& knob = parts.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
             static_cast<cudnnBackendKnobType_t>(id[i]))
        .number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, id[i + 1])
        .finish();
    knobs.push_back(knob.raw());
  }
  if (!std::ranges::all_of(parts, &Descriptor::good)) return std::nullopt;
  Configured made{.id = id,
                  .relaxation = relaxation_of_engine(parts[0], numerics),
                  .config = Descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)};
  made.config.set(CUDNN_ATTR_ENGINECFG_ENGINE, parts[0]);
  if (!knobs.empty()) {
    made.config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    std::span<const cudnnBackendDescriptor_t>(knobs));
  }
  made.config.finish();
  made.parts = std::move(parts);
  return made.config.good() ? std::optional(std::move(made)) : std::nullopt;
}

/// One pass of one shape: its operation graph and, once listed, its engines.
struct PassGraph {
  std::shared_ptr<const Handle> handle;
  gpu::Numerics numerics;
  ConvolutionGraph operation;
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<Configured> listed = {};
};

void list(PassGraph& pass) {
  pass.listed.clear();
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, pass.graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode)
        .finish();
    for (Descriptor& config : get_all(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, max_engines)) {
      auto one = described(std::move(config), pass.numerics);
      if (one && std::ranges::find(pass.listed, one->id, &Configured::id) == pass.listed.end()) {
        pass.listed.push_back(*std::move(one));
      }
    }
  }
}

/// Returns cuDNN's error message; empty: success.
std::string execute(const Handle& handle, const Descriptor& plan, GpuStream stream,
                    const gpu::ConvolutionMemory& at) {
  const std::array<std::int64_t, 3> ids = {id_of_x, id_of_w, id_of_y};
  const std::array<void*, 3> pointers = {at.x, at.w, at.y};
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.numbers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           std::span<void* const>(pointers))
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, at.workspace)
      .finish();
  if (!pack.good()) return pack.error().what;
  cudnnStatus_t status = cudnnSetStream(handle.raw(), stream);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnnBackendExecute(handle.raw(), plan.raw(), pack.raw());
  }
  return status == CUDNN_STATUS_SUCCESS ? "" : cudnnGetErrorString(status);
}

std::optional<gpu::EnginePlan> plan_of(const std::shared_ptr<const PassGraph>& pass,
                                       const Configured& engine) {
  auto plan = std::make_shared<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, pass->handle->raw())
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.config)
      .finish();
  const auto bytes =
      plan->get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
  if (bytes.empty()) return std::nullopt;
  return gpu::EnginePlan{.id = engine.id,
                         .relaxation = engine.relaxation,
                         .workspace = static_cast<std::size_t>(bytes[0]),
                         .run = [pass, plan](GpuStream stream, const gpu::ConvolutionMemory& at) {
                           return execute(*pass->handle, *plan, stream, at);
                         }};
}

}  // namespace

Result<Ok> Handle::open() {
  const cudnnStatus_t status = cudnnCreate(&raw_);
  if (status == CUDNN_STATUS_SUCCESS) return Ok{};
  raw_ = nullptr;
  return Error{ErrorKind::unavailable,
               fmt::format("cuDNN cannot start: {}", cudnnGetErrorString(status)), ""};
}

Result<gpu::PassEngines> engines_of(std::shared_ptr<const Handle> handle,
                                    const gpu::ConvolutionShape& shape, Pass pass) {
  auto operation = convolution_graph(shape, pass);
  if (!operation) return std::move(operation).error();
  auto made =
      std::make_shared<PassGraph>(PassGraph{.handle = std::move(handle),
                                            .numerics = {.type = shape.type, .tf32 = shape.tf32},
                                            .operation = *std::move(operation)});
  made->graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, made->operation.operation)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, made->handle->raw())
      .finish();
  if (!made->graph.good()) return made->graph.error();
  return gpu::PassEngines{.list =
                              [made] {
                                list(*made);
                                std::vector<gpu::Engine> engines;
                                for (const Configured& one : made->listed) {
                                  engines.push_back({.id = one.id, .relaxation = one.relaxation});
                                }
                                return engines;
                              },
                          .plan = [made](const EngineId& id) -> std::optional<gpu::EnginePlan> {
                            const auto listed =
                                std::ranges::find(made->listed, id, &Configured::id);
                            if (listed != made->listed.end()) return plan_of(made, *listed);
                            const auto engine = configured(made->graph, id, made->numerics);
                            return engine ? plan_of(made, *engine) : std::nullopt;
                          }};
}

}  // namespace dllaunch::cudnn
