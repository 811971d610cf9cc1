#include "support/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace dllaunch {
namespace {

Error failure(std::string_view what) {
  return Error{ErrorKind::unavailable, fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

std::int64_t inode(int fd) {
  struct stat about = {};
  return ::fstat(fd, &about) == 0 ? static_cast<std::int64_t>(about.st_ino) : -1;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileDescriptor> make_shared_memory(std::size_t bytes) {
  FileDescriptor memory(::memfd_create("dllaunch", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) {
    return failure("memfd_create");
  }
  return memory;
}

MemoryOffer offer_of(const FileDescriptor& memory) {
  return {.pid = ::getpid(), .fd = memory.get(), .inode = inode(memory.get())};
}

Result<FileDescriptor> open_shared_memory(const MemoryOffer& offer) {
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.pid, offer.fd);
  FileDescriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!memory) return failure(path);
  if (inode(memory.get()) != offer.inode) {
    return Error{ErrorKind::unavailable, path + ": belongs to another process", ""};
  }
  return memory;
}

Result<MappedMemory> MappedMemory::map(const FileDescriptor& memory, std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return failure("mmap");
  MappedMemory mapped;
  mapped.bytes_ = {static_cast<std::byte*>(at), bytes};
  return mapped;
}

MappedMemory::~MappedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace dllaunch
