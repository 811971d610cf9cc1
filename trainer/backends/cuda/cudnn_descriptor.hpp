// RAII descriptors of cuDNN's graph API. Each remembers its first failure.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch::cudnn {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t kind) {
    note(cudnnBackendCreateDescriptor(kind, &raw_), "create");
  }
  ~Descriptor() {
    if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
  }
  Descriptor(Descriptor&& other) noexcept
      : raw_(std::exchange(other.raw_, nullptr)), problem_(std::move(other.problem_)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(problem_, other.problem_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  template <typename T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::span<const T> values) {
    if (!problem_) {
      note(cudnnBackendSetAttribute(raw_, name, type, static_cast<std::int64_t>(values.size()),
                                    values.data()),
           "attribute " + std::to_string(static_cast<int>(name)));
    }
    return *this;
  }
  template <typename T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const T& value) {
    return set(name, type, std::span<const T>(&value, 1));
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& of) {
    if (!problem_) problem_ = of.problem_;
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, of.raw_);
  }
  Descriptor& numbers(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Descriptor& number(cudnnBackendAttributeName_t name, std::int64_t value) {
    return set(name, CUDNN_TYPE_INT64, value);
  }
  Descriptor& finish() {
    if (!problem_) note(cudnnBackendFinalize(raw_), "finalize");
    return *this;
  }

  /// Returns the attribute's values, at most `most`; empty after a failure.
  template <typename T>
  std::vector<T> get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::size_t most = 1) const {
    std::vector<T> values(most);
    std::int64_t count = 0;
    if (problem_ || cudnnBackendGetAttribute(raw_, name, type, static_cast<std::int64_t>(most),
                                             &count, values.data()) != CUDNN_STATUS_SUCCESS) {
      count = 0;
    }
    values.resize(std::min(static_cast<std::size_t>(count), most));
    return values;
  }

  cudnnBackendDescriptor_t raw() const { return raw_; }
  bool good() const { return !problem_; }
  /// unavailable, with cuDNN's message.
  Error error() const {
    return {ErrorKind::unavailable, "cuDNN: " + problem_.value_or("no error"), ""};
  }

 private:
  void note(cudnnStatus_t status, const std::string& call) {
    if (status == CUDNN_STATUS_SUCCESS || problem_) return;
    problem_ = call + ": " + cudnnGetErrorString(status);
  }

  cudnnBackendDescriptor_t raw_ = nullptr;
  std::optional<std::string> problem_;
};

}  // namespace dllaunch::cudnn
