#include "launcher/execute/stage_node.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "launcher/run_dir.hpp"
#include "launcher/stage.hpp"
#include "topology/network_disk.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours copy_limit(24);  // the job's own limit comes before
constexpr std::string_view folder_stem = "dllaunch-stage-";

bool has_plain_name(std::string_view path) {
  return path.starts_with('/') && std::all_of(path.begin(), path.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("/._-+=,:@").find(c) != std::string_view::npos;
         });
}

std::string free_space(const std::string& folder) {
  std::error_code error;
  const auto space = fs::space(fs::path(folder).parent_path(), error);
  if (error) return "";
  constexpr double gib = 1024.0 * 1024 * 1024;
  return fmt::format(
      " ({:.1f} of {:.1f} GiB free on {})", static_cast<double>(space.available) / gib,
      static_cast<double>(space.capacity) / gib, fs::path(folder).parent_path().string());
}

/// The first line that is not just tar's "I gave up after that".
std::string first_words(const CommandOutput& output) {
  const auto& text = output.err.empty() ? output.out : output.err;
  const std::string line = text.substr(0, text.find('\n'));
  return line.empty() ? fmt::format("exit code {}", output.exit_code) : line;
}

Error failed(World& world, const std::string& what, const std::string& why,
             const std::string& folder) {
  Error error{ErrorKind::unavailable,
              fmt::format("{}: cannot {}: {}", world.host_name(), what, why), ""};
  if (why.find("No space left") != std::string::npos ||
      why.find("Disk quota") != std::string::npos) {
    error.what += free_space(folder);
    error.hint = "stage less, or name a larger disk: environment.variables: {TMPDIR: /its/path}";
  } else if (why.find("Cannot exec") != std::string::npos ||
             why.find("not installed") != std::string::npos) {
    error.hint = "pack it as .tar.gz, or install that program on the nodes";
  }
  return error;
}

Result<Ok> call(World& world, const std::vector<std::string>& argv, const std::string& what,
                const std::string& folder) {
  const auto output = world.run(argv, copy_limit);
  if (!output) return failed(world, what, output.error().what, folder);
  if (output->exit_code != 0) return failed(world, what, first_words(*output), folder);
  return Ok{};
}

Result<Ok> unpack(World& world, ArchiveKind kind, const std::string& archive,
                  const std::string& target, const std::string& what) {
  std::vector<std::string> argv = {"tar",   "--extract",     "--no-same-owner", "--file",
                                   archive, "--force-local", "--directory",     target};
  if (kind == ArchiveKind::zip) {
    argv = {"unzip", "-q", "-o", archive, "-d", target};
    if (!world.find_program("unzip")) argv = {"python3", "-m", "zipfile", "-e", archive, target};
  }
  return call(world, argv, what, target);
}

/// imagenet.tar that holds imagenet/... is to become imagenet/..., like one that holds the files.
void lift_only_folder(const fs::path& target) {
  std::error_code error;
  fs::directory_iterator at(target, error);
  if (error || at == fs::directory_iterator()) return;
  const fs::path only = at->path();
  if (only.filename() != target.filename() || !fs::is_directory(only, error)) return;
  if (++at != fs::directory_iterator()) return;
  const fs::path aside = target.string() + ".lifted";
  fs::rename(only, aside, error);
  if (error) return;
  fs::remove(target, error);
  fs::rename(aside, target, error);
}

Result<Ok> make_folder(World& world, const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return Ok{};
  return failed(world, "make " + path, std::strerror(errno), path);
}

/// The job's own files with the folder's name filled in: ranks then read them here.
Result<Ok> take_run_files(World& world, const StageRequest& request, const std::string& own) {
  for (const char* name : {"plan.json", "train.json"}) {
    const std::string path = request.run_dir + "/" + name;
    if (access(path.c_str(), F_OK) != 0) continue;
    auto text = world.read_file(path);
    if (!text) return failed(world, std::string("stage ") + name, text.error().what, own);
    auto written = write_file(own + "/" + name, with_stage(*std::move(text), request.folder));
    if (!written) return failed(world, std::string("stage ") + name, written.error().what, own);
  }
  return Ok{};
}

/// A parcel holds a source as sbcast sent it: an archive, a packed directory, or a plain file.
Result<Ok> open_parcel(World& world, const std::string& parcel, const std::string& source,
                       const std::string& folder) {
  std::error_code error;
  const bool directory = fs::is_directory(source, error);
  const auto kind = directory ? ArchiveKind::tar : archive_kind(source);
  const std::string file_name = fs::path(source).filename().string();
  if (kind == ArchiveKind::none) {
    fs::rename(parcel, folder + "/" + file_name, error);
    return error ? Result<Ok>(failed(world, "stage " + source, error.message(), folder)) : Ok{};
  }
  const std::string target = folder + "/" + (directory ? file_name : staged_name(source));
  if (auto made = make_folder(world, target); !made) return made;
  auto done = unpack(world, kind, parcel, target, "unpack " + source);
  fs::remove(parcel, error);
  if (done && !directory) lift_only_folder(target);
  return done;
}

Result<Ok> fill(World& world, const StageRequest& request) {
  const std::string own = request.folder + "/.dllaunch";
  if (auto made = make_folder(world, own); !made) return made;
  std::error_code error;
  const auto programs = programs_parcel(request.folder);
  if (fs::exists(programs, error)) {
    auto done = unpack(world, ArchiveKind::tar, programs, own, "unpack the programs");
    fs::remove(programs, error);
    if (!done) return done;
  }
  if (!request.run_dir.empty()) {
    if (auto done = take_run_files(world, request, own); !done) return done;
  }
  for (const auto& source : request.sources) {
    const auto parcel = source_parcel(request.folder, source);
    auto done = fs::exists(parcel, error) ? open_parcel(world, parcel, source, request.folder)
                                          : take_source(world, source, request.folder);
    if (!done) return done;
  }
  return Ok{};
}

/// Directories of the user's may be read-only, and would keep what is in them.
void remove_tree(const std::string& folder, std::error_code& error) {
  std::error_code ended;
  for (fs::recursive_directory_iterator at(folder, ended), end; !ended && at != end;
       at.increment(ended)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  }
  fs::remove_all(folder, error);
}

bool is_ours(const std::string& folder) {
  return folder.starts_with('/') && fs::path(folder).filename().string().starts_with(folder_stem);
}

}  // namespace

std::string node_disk(World& world) {
  for (const char* variable : {"SLURM_TMPDIR", "TMPDIR"}) {
    std::string path = world.environment(variable).value_or("");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (has_plain_name(path) && world.is_folder(path) && access(path.c_str(), W_OK | X_OK) == 0 &&
        !lies_on_network(path))
      return path;
  }
  return "/tmp";
}

std::string stage_folder(const std::string& disk, const std::string& job_id) {
  return fmt::format("{}/{}{}", disk, folder_stem, job_id);
}

std::string source_parcel(const std::string& folder, const std::string& source) {
  return fmt::format("{}.{}.parcel", folder, staged_name(source));
}

std::string programs_parcel(const std::string& folder) {
  return folder + ".programs";
}

Result<Ok> take_source(World& world, const std::string& source, const std::string& folder) {
  std::error_code error;
  const bool directory = fs::is_directory(source, error);
  const auto kind = directory ? ArchiveKind::none : archive_kind(source);
  if (kind == ArchiveKind::none)
    // What a link names, too: latest -> v3, or a cache's snapshots -> ../../blobs, lies elsewhere.
    return call(world,
                {"cp", "-R", "-L", "--preserve=mode,timestamps,links", "--", source, folder + "/"},
                "copy " + source, folder);
  const std::string target = folder + "/" + staged_name(source);
  if (auto made = make_folder(world, target); !made) return made;
  auto done = unpack(world, kind, source, target, "unpack " + source);
  if (done) lift_only_folder(target);
  return done;
}

Result<Ok> stage_on_this_node(World& world, const StageRequest& request) {
  if (!is_ours(request.folder))
    return Error{ErrorKind::bad_request, request.folder + " is no folder for staging", ""};
  // A requeued job may come back to a node that lost power with the first copy on it.
  std::error_code error;
  remove_tree(request.folder, error);
  if (error)
    return failed(world, "remove what an earlier start left in " + request.folder, error.message(),
                  request.folder);
  if (auto made = make_folder(world, request.folder); !made) return made;
  auto done = fill(world, request);
  if (!done) {
    if (auto removed = remove_stage(request.folder); !removed) world.note(removed.error().what);
  }
  return done;
}

Result<Ok> remove_stage(const std::string& folder) {
  if (!is_ours(folder))
    return Error{ErrorKind::bad_request, folder + " is no folder for staging", ""};
  std::error_code error;
  remove_tree(folder, error);
  const std::string problem = error ? error.message() : "";
  const fs::path parcels = folder + ".";
  for (fs::directory_iterator at(parcels.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->path().filename().string().starts_with(parcels.filename().string()))
      fs::remove_all(at->path(), ignored);
  }
  if (!problem.empty())
    return Error{ErrorKind::unavailable, fmt::format("cannot remove {}: {}", folder, problem), ""};
  return Ok{};
}

}  // namespace dllaunch
