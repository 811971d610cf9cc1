// Fuzzes readers for size: large inputs grow out of a sample - many items, a long one, a deep one -
// and each is read in a child process whose CPU time and memory are limited.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// One reader of text from outside.
struct SizedReader {
  std::string_view name;  // of its function
  void (*read)(std::string_view text);
  /// "head|item|tail" of what it reads; without bars all of it is the item. Items are repeated, and
  /// their numbers count up.
  std::string_view sample;
};

/// The inputs that a reader does not read within the limits: "TOKEN repeated: 3 s of CPU are not
/// enough". Inputs have 1 MB, in the full tier 10 MB, and a reader 3 s of CPU and 100 MB beside it.
std::vector<std::string> inputs_too_large_for(const SizedReader& reader);

/// The functions of `room`'s headers that read a text, by their names and first parameter.
std::vector<std::string> readers_in_headers(const std::string& room);

/// The same of those that read a file, or files of a folder.
std::vector<std::string> file_readers_in_headers(const std::string& room);

}  // namespace dllaunch
