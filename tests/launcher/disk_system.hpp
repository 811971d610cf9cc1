// A FakeSystem whose files are real ones.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

/// Its cache is a folder of its own.
class DiskSystem : public FakeSystem {
 public:
  DiskSystem() { variables["XDG_CACHE_HOME"] = folder.path(); }

  Result<std::string> read_file(const std::string& path) override {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) return FakeSystem::read_file(path);
    std::string text;
    std::vector<char> part(std::size_t{1} << 20);
    while (file.read(part.data(), std::ssize(part)), file.gcount() > 0)
      text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    return text;
  }

  TemporaryFolder folder;
};

}  // namespace dllaunch
