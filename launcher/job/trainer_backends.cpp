#include "launcher/job/trainer_backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "launcher/job/train_schema.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

std::string_view vendor_of(std::string_view device) {
  return device == "cuda" ? "nvidia" : "amd";
}

bool trains_in(const TrainerBackend& backend, std::string_view precision) {
  return std::ranges::find(backend.precisions, precision) != backend.precisions.end();
}

}  // namespace

std::vector<TrainerBackend> trainer_backends(const Json& train_schema) {
  std::vector<TrainerBackend> all;
  const Json* backends = train_schema.at_path({"properties", "backend", "x-backends"});
  if (backends == nullptr) return all;
  for (const Json& one : *backends) {
    all.push_back({.name = one.value("name", ""),
                   .device = one.value("device", ""),
                   .precisions = one.value("precisions", std::vector<std::string>()),
                   .gpu_memory = one.value("gpu_memory", false)});
  }
  return all;
}

const std::vector<TrainerBackend>& trainer_backends() {
  static const auto all = trainer_backends(train_schema());
  return all;
}

std::vector<TrainerBackend> backends_for(const std::vector<TrainerBackend>& all,
                                         std::string_view backend, std::string_view device) {
  std::vector<TrainerBackend> choice;
  std::ranges::copy_if(all, std::back_inserter(choice), [&](const TrainerBackend& one) {
    return (backend == "auto" || backend == one.name) && (device == "auto" || device == one.device);
  });
  return choice;
}

std::vector<std::string> gpu_devices(const std::vector<TrainerBackend>& backends) {
  std::vector<std::string> devices;
  for (const TrainerBackend& one : backends) {
    if (one.device == "cpu" || std::ranges::find(devices, one.device) != devices.end()) continue;
    devices.push_back(one.device);
  }
  return devices;
}

bool drives_gpus_of(const Topology& node, const std::vector<std::string>& devices) {
  if (devices.empty() || node.gpus.empty()) return !devices.empty();
  return std::ranges::any_of(node.gpus, [&](const Gpu& gpu) {
    return gpu.vendor == "other" || std::ranges::any_of(devices, [&](const std::string& device) {
             return gpu.vendor == vendor_of(device);
           });
  });
}

std::string precision_problem(const std::vector<TrainerBackend>& choice,
                              std::string_view precision) {
  const auto can = [&](const TrainerBackend& one) { return trains_in(one, precision); };
  if (choice.empty() || std::ranges::any_of(choice, can)) return {};
  if (choice.size() > 1)
    return fmt::format(
        "train.precision {}: no backend of this build trains in it; use bf16, or fp32", precision);
  return fmt::format("train.precision {}: backend {} has {}", precision, choice.front().name,
                     fmt::join(choice.front().precisions, ", "));
}

std::string gpu_memory_problem(const std::vector<TrainerBackend>& choice,
                               std::string_view precision) {
  const auto can = [&](const TrainerBackend& one) {
    return one.gpu_memory && trains_in(one, precision);
  };
  if (choice.empty() || std::ranges::any_of(choice, can)) return {};
  if (std::ranges::any_of(choice, &TrainerBackend::gpu_memory)) {
    if (!precision_problem(choice, precision).empty()) return {};  // already reported
    return fmt::format(
        "runtime.allreduce nccl reduces memory of GPUs; what trains in precision {} has its "
        "parameters in memory of the host: use auto, or another precision",
        precision);
  }
  return "runtime.allreduce nccl reduces memory of GPUs; this build's trainer has its parameters "
         "in memory of the host: use auto";
}

}  // namespace dllaunch
