#include "runtime/communicators/hierarchical/node_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

namespace dllaunch {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error failure(std::string_view what) {
  return Error{
      ErrorKind::unavailable,
      fmt::format("ranks of this node cannot share memory: {}: {}", what, std::strerror(errno)),
      "use runtime.allreduce: mpi"};
}

std::int64_t inode(int fd) {
  struct stat about = {};
  return ::fstat(fd, &about) == 0 ? static_cast<std::int64_t>(about.st_ino) : -1;
}

/// What a rank tells the others of its piece.
struct Offer {
  std::int64_t pid;
  std::int64_t fd;
  std::int64_t inode;  // in another PID namespace the number would be somebody else's
};

}  // namespace

std::optional<Error> NodeMemory::map(int fd) {
  void* piece = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (piece == MAP_FAILED) return failure("mmap");
  pieces_.push_back(static_cast<std::byte*>(piece));
  ::madvise(piece, bytes_, MADV_HUGEPAGE);  // fewer TLB misses where the kernel allows it
  return std::nullopt;
}

NodeMemory::~NodeMemory() {
  for (std::byte* piece : pieces_) ::munmap(piece, bytes_);
}

Result<std::unique_ptr<NodeMemory>> NodeMemory::make(const Peers& node, std::size_t bytes) {
  std::unique_ptr<NodeMemory> memory(new NodeMemory(bytes));
  std::optional<Error> error;
  const FileDescriptor own(::memfd_create("dllaunch", MFD_CLOEXEC));
  if (own.get() < 0 || ::ftruncate(own.get(), static_cast<off_t>(bytes)) != 0) {
    error = failure("memfd_create");
  }
  const std::array<std::int64_t, 3> offer = {::getpid(), own.get(), inode(own.get())};
  const auto offers = node.gather_all(offer);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(node.size()) && !error; ++rank) {
    const Offer of{offers[3 * rank], offers[3 * rank + 1], offers[3 * rank + 2]};
    const std::string path = fmt::format("/proc/{}/fd/{}", of.pid, of.fd);
    const FileDescriptor theirs(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (theirs.get() < 0 || inode(theirs.get()) != of.inode) {
      error = failure(path);
    } else {
      error = memory->map(theirs.get());
    }
  }
  // Nobody closes before all have opened; and all succeed, or none.
  const std::array<std::int64_t, 1> failed = {error ? 1 : 0};
  for (const std::int64_t each : node.gather_all(failed)) {
    if (each == 0 || error) continue;
    error = Error{ErrorKind::unavailable, "another rank of this node cannot share memory", ""};
  }
  if (error) return *std::move(error);
  std::memset(memory->pieces_[static_cast<std::size_t>(node.rank())], 0, bytes);
  return memory;
}

}  // namespace dllaunch
