// A disk of a few MB that a test fills. Only root can have one.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace dllaunch {

/// Mounted for this process and what it starts from now on, its threads too, on a folder that is
/// there.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder, const char* size = "size=2m")
      : folder_(std::move(folder)) {
    made_ = unshare(CLONE_NEWNS) == 0 &&
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            mount("small", folder_.c_str(), "tmpfs", 0, size) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (made_) umount2(folder_.c_str(), MNT_DETACH);
  }

  bool made() const { return made_; }
  /// To its last byte, but for `left` bytes.
  void fill(std::size_t left = 0) const {
    std::ofstream out(filler(), std::ios::binary);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
    out.close();
    std::filesystem::resize_file(filler(), std::filesystem::file_size(filler()) - left);
  }
  void free() const { std::filesystem::remove(filler()); }

 private:
  std::string filler() const { return folder_ + "/filler"; }

  std::string folder_;
  bool made_ = false;
};

}  // namespace dllaunch
