#include "launcher/staging/stage_node.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>

#include "launcher/os/atomic_file.hpp"
#include "launcher/plan/stage.hpp"
#include "support/held_folder.hpp"
#include "support/network_disk.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours node_copy_limit(24);  // the job's own limit comes first
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

/// Returns the first line that is more than tar's final "exiting" message.
std::string first_words(const CommandOutput& output) {
  const auto& text = output.err.empty() ? output.out : output.err;
  const std::string line = text.substr(0, text.find('\n'));
  return line.empty() ? fmt::format("exit code {}", output.exit_code) : line;
}

enum class Cause { other, no_room, no_program };

Cause cause_of(int error) {
  return error == ENOSPC || error == EDQUOT ? Cause::no_room : Cause::other;
}

/// tar, unzip and cp exit with the same code whatever failed: only their messages tell.
Cause cause_in(std::string_view message) {
  const auto says = [message](std::string_view phrase) {
    return message.find(phrase) != std::string_view::npos;
  };
  if (says("No space left") || says("Disk quota")) return Cause::no_room;
  return says("Cannot exec") ? Cause::no_program : Cause::other;
}

Error failed(System& system, const std::string& what, const std::string& why,
             const std::string& folder, Cause cause = Cause::other) {
  Error error{ErrorKind::unavailable,
              fmt::format("{}: cannot {}: {}", system.host_name(), what, why), ""};
  if (cause == Cause::no_room) {
    error.what += free_space(folder);
    error.hint = "stage less, or name a larger disk: environment.variables: {TMPDIR: /its/path}";
  } else if (cause == Cause::no_program) {
    error.hint = "pack it as .tar.gz, or install that program on the nodes";
  }
  return error;
}

Result<Ok> call(System& system, const std::vector<std::string>& argv, const std::string& what,
                const std::string& folder) {
  const auto output = system.run(argv, node_copy_limit);
  if (!output) {
    const bool missing = output.error().kind == ErrorKind::unavailable;
    return failed(system, what, output.error().what, folder,
                  missing ? Cause::no_program : Cause::other);
  }
  if (output->exit_code == 0) return Ok{};
  const auto why = first_words(*output);
  return failed(system, what, why, folder, cause_in(why));
}

Result<Ok> unpack(System& system, ArchiveKind kind, const std::string& archive,
                  const std::string& target, const std::string& what) {
  std::vector<std::string> argv = {"tar",   "--extract",     "--no-same-owner", "--file",
                                   archive, "--force-local", "--directory",     target};
  if (kind == ArchiveKind::zip) {
    argv = {"unzip", "-q", "-o", archive, "-d", target};
    if (!system.find_program("unzip")) argv = {"python3", "-m", "zipfile", "-e", archive, target};
  }
  return call(system, argv, what, target);
}

/// Lifts an archive's only folder: imagenet.tar with imagenet/... becomes imagenet/..., like one
/// that holds the files directly.
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

Result<Ok> make_folder(System& system, const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return Ok{};
  const int why = errno;
  return failed(system, "make " + path, std::strerror(why), path, cause_of(why));
}

/// Copies the job's files with the folder's path filled in.
Result<Ok> take_run_files(System& system, const StageRequest& request, const std::string& own) {
  for (const char* name : {"plan.json", "train.json"}) {
    const std::string path = request.run_dir + "/" + name;
    if (access(path.c_str(), F_OK) != 0) continue;
    auto text = system.read_file(path);
    if (!text) return failed(system, std::string("stage ") + name, text.error().what, own);
    auto written = write_file(own + "/" + name, with_stage(*std::move(text), request.folder));
    if (written) continue;
    std::error_code error;
    constexpr std::uintmax_t little = 1 << 20;
    const bool full = fs::space(own, error).available < little && !error;
    return failed(system, std::string("stage ") + name, written.error().what, own,
                  full ? Cause::no_room : Cause::other);
  }
  return Ok{};
}

/// Returns the path of the parcel sent by the job's broadcast, after checking its checksum; empty:
/// none was sent.
Result<std::string> own_parcel(System& system, const StageRequest& request,
                               const std::string& name) {
  const auto sent = std::find_if(request.parcels.begin(), request.parcels.end(),
                                 [&](const Parcel& parcel) { return parcel.name == name; });
  if (sent == request.parcels.end()) return std::string();
  const auto path = parcel_path(request.folder, name);
  const auto checksum = file_checksum(path);
  if (!checksum) return failed(system, "stage " + name, checksum.error().what, request.folder);
  if (*checksum == sent->checksum) return path;
  return failed(system, "stage " + name, "the copy differs from the source", request.folder);
}

/// A parcel holds a source: an archive, a packed directory, or a plain file.
Result<Ok> open_parcel(System& system, const std::string& parcel, const std::string& source,
                       const std::string& folder) {
  std::error_code error;
  const bool directory = fs::is_directory(source, error);
  const auto kind = directory ? ArchiveKind::tar : archive_kind(source);
  const std::string file_name = fs::path(source).filename().string();
  if (kind == ArchiveKind::none) {
    fs::rename(parcel, folder + "/" + file_name, error);
    if (!error) return Ok{};
    return failed(system, "stage " + source, error.message(), folder, cause_of(error.value()));
  }
  const std::string target = folder + "/" + (directory ? file_name : staged_name(source));
  if (auto made = make_folder(system, target); !made) return made;
  auto done = unpack(system, kind, parcel, target, "unpack " + source);
  fs::remove(parcel, error);
  if (done && !directory) lift_only_folder(target);
  return done;
}

Result<Ok> fill(System& system, const StageRequest& request) {
  const std::string own = request.folder + "/.dllaunch";
  if (auto made = make_folder(system, own); !made) return made;
  auto programs = own_parcel(system, request, programs_parcel());
  if (!programs) return std::move(programs).error();
  if (!programs->empty()) {
    auto done = unpack(system, ArchiveKind::tar, *programs, own, "unpack the programs");
    if (!done) return done;
  }
  if (!request.run_dir.empty()) {
    if (auto done = take_run_files(system, request, own); !done) return done;
  }
  for (const auto& source : request.sources) {
    auto parcel = own_parcel(system, request, source_parcel(source));
    if (!parcel) return std::move(parcel).error();
    auto done = parcel->empty() ? take_source(system, source, request.folder)
                                : open_parcel(system, *parcel, source, request.folder);
    if (!done) return done;
  }
  std::error_code ignored;
  fs::remove_all(parcel_folder(request.folder), ignored);
  return Ok{};
}

/// Read-only directories would keep their content: make them writable first.
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

bool has_our_name(const std::string& folder) {
  return folder.starts_with('/') && fs::path(folder).filename().string().starts_with(folder_stem);
}

Error not_ours(const std::string& folder, const std::string& why) {
  return {ErrorKind::bad_request, fmt::format("{} cannot be used for staging: {}", folder, why),
          ""};
}

/// Checks for a directory, not a link, of this user and private. Ok if it does not exist.
Result<Ok> check_ours(const std::string& folder) {
  if (!has_our_name(folder)) return not_ours(folder, "dllaunch uses no such name");
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return Ok{};
  if (file < 0) return not_ours(folder, std::strerror(errno));
  struct stat info {};
  const bool known = fstat(file, &info) == 0;
  close(file);
  constexpr mode_t others = 077;
  if (!known || info.st_uid != geteuid()) return not_ours(folder, "it is another user's");
  if ((info.st_mode & others) != 0) return not_ours(folder, "other users can read or write it");
  return Ok{};
}

/// Removes copies left after a power loss or a killed slurmd.
void remove_earlier(const std::string& folder) {
  const fs::path ours(folder);
  const std::string name = ours.filename().string();
  const auto job = name.substr(0, name.rfind('-') + 1);
  if (job.size() <= folder_stem.size()) return;
  std::error_code ended;
  for (fs::directory_iterator at(ours.parent_path(), ended), end; !ended && at != end;
       at.increment(ended)) {
    const bool earlier = at->path().filename().string().starts_with(job) && at->path() != ours;
    if (!earlier) continue;
    // Another user's folder of such a name is left alone.
    const auto ignored = remove_stage(at->path().string());
  }
}

}  // namespace

std::string node_disk(System& system, std::string* passed_over) {
  for (const char* variable : {"SLURM_TMPDIR", "TMPDIR"}) {
    std::string path = system.environment(variable).value_or("");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (!has_plain_name(path) || !system.is_folder(path) ||
        access(path.c_str(), W_OK | X_OK) != 0 || lies_on_network(path))
      continue;
    const auto why = why_replaceable(path + "/" + std::string(folder_stem));
    if (why.empty()) return path;
    if (passed_over != nullptr) *passed_over = fmt::format("{}={}: {}", variable, path, why);
  }
  return "/tmp";
}

std::string stage_folder(const std::string& disk, const std::string& id) {
  return fmt::format("{}/{}{}", disk, folder_stem, id);
}

std::string own_stage_id(const std::string& job_id) {
  std::random_device source;
  return fmt::format("{}-{:08x}{:08x}", job_id, source(), source());
}

Result<Ok> take_source(System& system, const std::string& source, const std::string& folder) {
  std::error_code error;
  const bool directory = fs::is_directory(source, error);
  const auto kind = directory ? ArchiveKind::none : archive_kind(source);
  if (kind == ArchiveKind::none)
    // Follows links too: latest -> v3, or snapshots -> ../../blobs, may point elsewhere.
    return call(system,
                {"cp", "-R", "-L", "--preserve=mode,timestamps,links", "--", source, folder + "/"},
                "copy " + source, folder);
  const std::string target = folder + "/" + staged_name(source);
  if (auto made = make_folder(system, target); !made) return made;
  auto done = unpack(system, kind, source, target, "unpack " + source);
  if (done) lift_only_folder(target);
  return done;
}

Result<Ok> make_stage_folder(System& system, const std::string& folder) {
  if (!has_our_name(folder)) return not_ours(folder, "dllaunch uses no such name");
  // The disk was chosen on the first node; here the path may have another mode.
  if (const auto why = why_replaceable(folder); !why.empty()) {
    auto unsafe = failed(system, "make " + folder, "other users may rename it: " + why, folder);
    unsafe.hint =
        "name a disk that is safe on every node: environment.variables: {TMPDIR: /its/path}";
    return unsafe;
  }
  remove_earlier(folder);
  return make_folder(system, folder);
}

Result<Ok> make_parcel_folder(System& system, const std::string& folder) {
  return make_folder(system, parcel_folder(folder));
}

Result<Ok> stage_on_this_node(System& system, const StageRequest& request) {
  if (!request.made) {
    if (auto made = make_stage_folder(system, request.folder); !made) return made;
  }
  auto done = check_ours(request.folder);
  if (!done) return done;
  done = fill(system, request);
  if (!done) {
    if (auto removed = remove_stage(request.folder); !removed) system.log(removed.error().what);
  }
  return done;
}

Result<Ok> remove_stage(const std::string& folder) {
  if (auto ours = check_ours(folder); !ours) return ours;
  std::error_code error;
  remove_tree(folder, error);
  if (error)
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot remove {}: {}", folder, error.message()), ""};
  return Ok{};
}

}  // namespace dllaunch
