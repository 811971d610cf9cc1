// Memory on one NUMA node, through system calls only.
#pragma once

#include <cstddef>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

/// Owns the memory; all pages are populated when allocate() returns.
class NumaMemory {
 public:
  /// On node `numa`, or where Linux puts it if -1. Prefers the node instead of binding to it: a
  /// strict policy could wake the OOM killer.
  /// unavailable: no memory, or Linux put it elsewhere (the node is full or not allowed).
  static Result<NumaMemory> allocate(std::size_t bytes, int numa);

  NumaMemory(NumaMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  NumaMemory& operator=(NumaMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~NumaMemory();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  NumaMemory(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  std::size_t bytes_;
};

}  // namespace dllaunch
