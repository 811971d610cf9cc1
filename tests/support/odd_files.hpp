// What a slip or another user may put in the place of a file that is read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

struct OddFile {
  std::string_view name;  // "a pipe"
  void (*put)(const std::string& path);
};

/// A pipe that no one writes, a device without end, a link to nothing, a folder, 3 GB of nothing.
std::span<const OddFile> odd_files_to_put();

/// Puts it there, with the folders above it, in the place of what is there.
void put_in_place(const OddFile& odd, const std::string& path);

/// Why read() does not end in a child process with 100 MB of memory, within 20 s of CPU time, in
/// which 3 GB can be read, and two minutes of any; empty: it does.
std::string why_not_read(const std::function<void()>& read);

}  // namespace dllaunch
