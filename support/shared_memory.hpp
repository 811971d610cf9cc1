// Anonymous memory shared by processes of one host. Nothing stays behind when a process is killed,
// and nothing counts against /dev/shm, which is 64 MiB in many containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

/// Owns a descriptor and closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// What another process of this host needs to open the memory.
struct MemoryOffer {
  std::int64_t pid = 0;
  std::int64_t fd = -1;
  std::int64_t inode = -1;  // detects another PID namespace, where `pid` is a different process
};

/// Returns zeroed memory. unavailable: the kernel refuses.
Result<FileDescriptor> make_shared_memory(std::size_t bytes);
/// Returns an offer that is valid while `memory` is open in this process.
MemoryOffer offer_of(const FileDescriptor& memory);
/// unavailable: the process is gone, or may not be inspected.
Result<FileDescriptor> open_shared_memory(const MemoryOffer& offer);

/// A mapping; unmapped on destruction. Outlives its descriptor.
class MappedMemory {
 public:
  static Result<MappedMemory> map(const FileDescriptor& memory, std::size_t bytes);
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedMemory();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace dllaunch
