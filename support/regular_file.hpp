// Opens files whose place another user may have taken.
#pragma once

#include <cstdint>
#include <string>

namespace dllaunch {

/// Of the last part of a path. Refused where only dllaunch has written: its files are no links.
enum class FileLinks : std::uint8_t { followed, refused };

/// Returns a descriptor for reading, or -1 and errno. Refuses pipes and devices: opening or reading
/// them may block forever. `bytes`, if not null, becomes the size of the file.
int open_regular_file(const std::string& path, FileLinks links = FileLinks::followed,
                      std::uint64_t* bytes = nullptr);

/// Up to `most` bytes from byte `from` on; fewer at the end of the file, none if it is unreadable.
std::string bytes_at(int file, std::uint64_t from, std::uint64_t most);

}  // namespace dllaunch
