#include "launcher/staging/stage_job.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/plan/stage.hpp"
#include "launcher/slurm/overlap_step.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours copy_limit(24);  // the job's own limit comes first

Error cannot(const std::string& what, const std::string& why) {
  return {ErrorKind::unavailable, fmt::format("cannot {}: {}", what, why), ""};
}

/// Returns some of the nodes' messages, without srun's own.
Error failure_in(const std::string& what, const CommandOutput& output) {
  constexpr std::string_view ours = "dllaunch: ";
  constexpr std::string_view advice = "  try: ";
  constexpr int most = 3;
  std::string messages;
  std::string others;
  std::string hint;
  int nodes = 0;
  for (const auto line : split_lines(output.err)) {
    if (line.starts_with(ours)) {
      if (++nodes <= most)
        messages.append(messages.empty() ? "" : "; ").append(line.substr(ours.size()));
    } else if (line.starts_with(advice)) {
      hint = line.substr(advice.size());
    } else if (others.size() < 1000) {
      others.append(others.empty() ? "" : "; ").append(line);
    }
  }
  if (nodes > most) messages += fmt::format("; and {} more nodes", nodes - most);
  if (!messages.empty()) return {ErrorKind::unavailable, what + ": " + messages, hint};
  return cannot(what, others.empty() ? fmt::format("exit code {}", output.exit_code) : others);
}

Result<Ok> call(System& system, const std::vector<std::string>& argv, const std::string& what) {
  const auto output = system.run(argv, copy_limit);
  if (!output) return cannot(what, output.error().what);
  if (output->exit_code != 0) return failure_in(what, *output);
  return Ok{};
}

/// Copies a bundle's programs and libraries. bin/ has their starters, which find the rest from
/// there (docs/decisions/0024).
Result<Ok> copy_bundle(const std::vector<std::string>& programs, const std::string& folder) {
  const auto prefix = fs::path(programs[0]).parent_path() / "../..";
  std::error_code error;
  // Made here, folders of a read-only bundle can be written.
  fs::create_directories(fs::path(folder) / "lib/dllaunch/glibc", error);
  for (const char* part : {"libexec/dllaunch", "lib/dllaunch"}) {
    fs::create_directories(fs::path(folder) / part, error);
    fs::copy(prefix / part, fs::path(folder) / part, fs::copy_options::recursive, error);
    if (error) return cannot("stage " + (prefix / part).string(), error.message());
  }
  for (const auto& program : programs) {
    fs::copy_file(program, fs::path(folder) / "bin" / fs::path(program).filename(), error);
    if (error) return cannot("stage " + program, error.message());
  }
  return Ok{};
}

/// Sends a file to every node under another name: the first node may share the source's path.
Result<Ok> send(System& system, const StageJob& job, const std::string& from,
                const std::string& to) {
  if (job.nodes == 1) return call(system, {"cp", "--", from, to}, "copy " + from);
  return call(system, {"sbcast", "--force", from, to}, fmt::format("send {} to all nodes", from));
}

Result<Ok> pack_directory(System& system, const std::string& source, const std::string& parcel) {
  return call(system,
              {"tar", "--create", "--dereference", "--force-local", "--file", parcel, "--directory",
               source, "."},
              "pack " + source);
}

/// Sends one file to all nodes, with its checksum.
Result<Ok> send_parcel(System& system, StageJob& job, const std::string& from,
                       const std::string& name) {
  auto checksum = file_checksum(from);
  if (!checksum) return std::move(checksum).error();
  job.request.parcels.push_back({name, *std::move(checksum)});
  return send(system, job, from, parcel_path(job.request.folder, name));
}

/// Sends what is read only once. `packed`: file name for sources that are packed first.
Result<Ok> send_parcels(System& system, StageJob& job, const std::string& packed) {
  if (!job.programs.empty()) {
    if (auto done = pack_programs(system, job.programs, packed); !done) return done;
    if (auto done = send_parcel(system, job, packed, programs_parcel()); !done) return done;
  }
  if (!job.broadcast) return Ok{};
  for (const auto& source : job.request.sources) {
    std::error_code error;
    const bool directory = fs::is_directory(source, error);
    if (directory) {
      if (auto done = pack_directory(system, source, packed); !done) return done;
    }
    auto done = send_parcel(system, job, directory ? packed : source, source_parcel(source));
    if (!done) return done;
  }
  return Ok{};
}

/// A failing node does not end the others: each reports its own error, and none is killed between
/// two files, which would look like a dead rank.
std::vector<std::string> on_every_node(const StageJob& job, std::vector<std::string> command) {
  command.insert(command.begin(), {job.dllaunch, "stage"});
  return argv_of({.count = static_cast<std::size_t>(job.nodes), .light = true}, command);
}

/// The private folders must exist before parcels are sent.
Result<Ok> make_folders(System& system, StageJob& job) {
  const bool made = std::exchange(job.request.made, true);
  const auto& folder = job.request.folder;
  if (job.nodes > 1) {
    std::vector<std::string> command = {"--here", "--make", "--to", folder};
    if (made) command.emplace_back("--made");
    return call(system, on_every_node(job, std::move(command)), "stage");
  }
  if (auto now = made ? Ok{} : make_stage_folder(system, folder); !now) return now;
  return make_parcel_folder(system, folder);
}

Result<Ok> fill_nodes(System& system, const StageJob& job) {
  if (job.nodes == 1) return stage_on_this_node(system, job.request);
  std::vector<std::string> command = {"--here", "--to", job.request.folder};
  if (job.request.made) command.emplace_back("--made");
  for (const auto& parcel : job.request.parcels) {
    command.emplace_back("--parcel");
    command.push_back(word_of(parcel));
  }
  if (!job.request.run_dir.empty()) {
    command.emplace_back("--run-dir");
    command.push_back(job.request.run_dir);
  }
  command.emplace_back("--");
  command.insert(command.end(), job.request.sources.begin(), job.request.sources.end());
  return call(system, on_every_node(job, command), "stage");
}

}  // namespace

Result<Ok> stage_on_all_nodes(System& system, StageJob job) {
  const auto missing = missing_sources(job.request.sources);
  if (!missing.empty())
    return Error{ErrorKind::unavailable, "stage: " + missing.front(),
                 "check `stage:` in the job file"};
  const bool sends = !job.programs.empty() || (job.broadcast && !job.request.sources.empty());
  if (sends) {
    if (auto made = make_folders(system, job); !made) return made;
    const std::string packed = parcel_path(job.request.folder, "packed");
    auto sent = send_parcels(system, job, packed);
    std::error_code ignored;
    fs::remove(packed, ignored);
    if (!sent) return sent;
  }
  return fill_nodes(system, job);
}

Result<Ok> pack_programs(System& system, const std::vector<std::string>& programs,
                         const std::string& parcel) {
  const std::string folder = parcel + ".d";
  std::error_code error;
  fs::remove_all(folder, error);
  // Not what is above: a keeper may have removed it.
  for (const char* name : {"", "/bin", "/lib"}) fs::create_directory(folder + name, error);
  const auto follow = fs::copy_options::overwrite_existing;
  if (!programs.empty() && fs::exists(programs[0] + ".real")) {
    auto packed = copy_bundle(programs, folder);
    if (packed) packed = pack_directory(system, folder, parcel);
    fs::remove_all(folder, error);
    return packed;
  }
  std::vector<std::string> all = programs;
  for (const auto& program : programs) {
    const std::string stem = "lib" + fs::path(program).filename().string() + "_";
    for (fs::directory_iterator at(fs::path(program).parent_path(), error), end;
         !error && at != end; at.increment(error)) {
      const auto name = at->path().filename().string();
      if (name.starts_with(stem) && name.ends_with(".so")) all.push_back(at->path().string());
    }
  }
  for (const auto& path : all) {
    fs::copy_file(path, folder + "/bin/" + fs::path(path).filename().string(), follow, error);
    if (error) return cannot("stage " + path, error.message());
    const auto linked = system.run({"ldd", path}, std::chrono::minutes(1));
    if (!linked || linked->exit_code != 0) continue;  // a static program has none
    for (const auto& library : own_libraries(linked->out)) {
      fs::copy_file(library, folder + "/lib/" + fs::path(library).filename().string(), follow,
                    error);
      if (error) return cannot("stage " + library, error.message());
    }
  }
  auto done = pack_directory(system, folder, parcel);
  fs::remove_all(folder, error);
  return done;
}

std::vector<std::string> missing_sources(const std::vector<std::string>& sources) {
  std::vector<std::string> problems;
  for (const auto& source : sources) {
    if (access(source.c_str(), F_OK) != 0)
      problems.push_back(source + " does not exist");
    else if (access(source.c_str(), R_OK) != 0)
      problems.push_back(source + " cannot be read");
  }
  return problems;
}

}  // namespace dllaunch
