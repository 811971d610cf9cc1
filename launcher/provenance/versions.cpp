#include "launcher/provenance/versions.hpp"

#include <array>
#include <chrono>
#include <filesystem>

#include "launcher/base/split.hpp"
#include "launcher/os/program_version.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct KnownLibrary {
  const char* name;
  const char* file;  // without its version
  const char* link;  // that programs load
};

// The file behind the link has the whole version in its name.
constexpr std::array<KnownLibrary, 5> known_libraries = {
    {{"CUDA runtime", "libcudart.so", "libcudart.so.12"},
     {"CUDA runtime", "libcudart.so", "libcudart.so.13"},
     {"cuDNN", "libcudnn.so", "libcudnn.so.9"},
     {"NCCL", "libnccl.so", "libnccl.so.2"},
     {"RCCL", "librccl.so", "librccl.so.1"}}};

std::string library_version(const KnownLibrary& library, const std::vector<std::string>& folders) {
  for (const auto& folder : folders) {
    std::error_code error;
    const auto file = fs::canonical(fs::path(folder) / library.link, error);
    if (!error) return version_of_file(file.string(), library.file);
  }
  return "";
}

}  // namespace

std::string nvidia_driver_in(std::string_view text) {
  const auto module = text.find("Kernel Module");
  return module == std::string_view::npos
             ? ""
             : version_in(text.substr(module, text.find('\n', module) - module));
}

std::string version_of_file(std::string_view path, std::string_view library) {
  const auto name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(library)) return "";
  const auto version = name.substr(library.size());
  const bool plain = version.size() > 1 && version.front() == '.' &&
                     version.find_first_not_of("0123456789.") == std::string_view::npos;
  return plain ? std::string(version.substr(1)) : "";
}

std::vector<std::string> library_folders(System& system) {
  std::vector<std::string> folders;
  const std::string own = system.environment("LD_LIBRARY_PATH").value_or("");
  for (const auto part : split_at(own, ':'))
    if (!part.empty()) folders.emplace_back(part);
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64",
                             "/usr/local/cuda/lib64", "/opt/rocm/lib"})
    folders.emplace_back(folder);
  return folders;
}

std::map<std::string, std::string> read_versions(System& system) {
  constexpr std::chrono::seconds limit(2);
  std::map<std::string, std::string> versions;
  const auto add = [&versions](const char* name, std::string version) {
    if (!version.empty()) versions.emplace(name, std::move(version));
  };
  if (const auto text = system.read_file("/proc/driver/nvidia/version"))
    add("NVIDIA driver", nvidia_driver_in(*text));
  if (const auto text = system.read_file("/sys/module/amdgpu/version"))
    add("AMD driver", text->substr(0, text->find('\n')));
  add("mpirun", value_at<std::string>(observe_program(system, "mpirun", limit), "version"));
  const auto folders = library_folders(system);
  for (const auto& library : known_libraries) add(library.name, library_version(library, folders));
  return versions;
}

}  // namespace dllaunch
