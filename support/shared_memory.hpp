// Memory that processes of one host share without a name: nothing is left behind when one is
// killed, and nothing counts against /dev/shm, which is 64 MiB in many containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

/// Closed with this.
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

/// What another process of this host needs to open it.
struct MemoryOffer {
  std::int64_t pid = 0;
  std::int64_t fd = -1;
  std::int64_t inode = -1;  // in another PID namespace the number would be somebody else's
};

/// Zeroed. unavailable: the kernel refuses.
Result<FileDescriptor> make_shared_memory(std::size_t bytes);
/// What others open as long as `memory` is open here.
MemoryOffer offer_of(const FileDescriptor& memory);
/// unavailable: the process, or the right to look into it, is not there.
Result<FileDescriptor> open_shared_memory(const MemoryOffer& offer);

/// Unmapped with this; needs its descriptor no longer.
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
