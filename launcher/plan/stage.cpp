#include "launcher/plan/stage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct Suffix {
  std::string_view text;
  ArchiveKind kind;
};

constexpr std::array<Suffix, 11> suffixes = {{{".tar", ArchiveKind::tar},
                                              {".tar.gz", ArchiveKind::tar},
                                              {".tgz", ArchiveKind::tar},
                                              {".tar.bz2", ArchiveKind::tar},
                                              {".tbz2", ArchiveKind::tar},
                                              {".tar.xz", ArchiveKind::tar},
                                              {".txz", ArchiveKind::tar},
                                              {".tar.zst", ArchiveKind::tar},
                                              {".tzst", ArchiveKind::tar},
                                              {".tar.lz4", ArchiveKind::tar},
                                              {".zip", ArchiveKind::zip}}};

const Suffix* suffix_of(std::string_view name) {
  const auto found = std::ranges::find_if(suffixes, [name](const Suffix& suffix) {
    return name.size() > suffix.text.size() && name.ends_with(suffix.text);
  });
  return found == suffixes.end() ? nullptr : &*found;
}

std::string_view last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

bool is_system_library(std::string_view path) {
  constexpr std::array<std::string_view, 4> folders = {"/lib/", "/lib64/", "/usr/lib/",
                                                       "/usr/lib64/"};
  return std::ranges::any_of(folders,
                             [path](std::string_view folder) { return path.starts_with(folder); });
}

}  // namespace

StagePlan plan_stage(const std::vector<std::string>& wishes, int nodes,
                     const std::string& work_dir) {
  StagePlan stage;
  stage.programs = nodes > most_nodes_reading_programs;
  stage.broadcast = nodes > most_nodes_reading_sources;
  for (const auto& wish : wishes) {
    if (wish == "programs" || wish == "no-programs") {
      stage.programs = wish == "programs";
      continue;
    }
    std::string path = (fs::path(work_dir) / wish).lexically_normal().string();
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    stage.sources.push_back(std::move(path));
  }
  return stage;
}

std::string staged_program(std::string_view path) {
  return fmt::format("{}/.dllaunch/bin/{}", stage_mark, last_part(path));
}

Result<Ok> check_stage(const StagePlan& stage) {
  std::map<std::string, std::string> taken;
  for (const auto& source : stage.sources) {
    const auto name = staged_name(source);
    if (name.empty() || name == "." || name == ".." || name == "/")
      return Error{ErrorKind::bad_request, fmt::format("stage: '{}' has no name", source),
                   "write the path of a directory or an archive"};
    const auto [before, is_new] = taken.emplace(name, source);
    if (!is_new)
      return Error{ErrorKind::bad_request,
                   fmt::format("stage: {} and {} would both become {}/{}", before->second, source,
                               stage_mark, name),
                   "rename one of them, or put both into one directory and stage that"};
  }
  return Ok{};
}

ArchiveKind archive_kind(std::string_view path) {
  const auto* suffix = suffix_of(last_part(path));
  return suffix == nullptr ? ArchiveKind::none : suffix->kind;
}

std::string staged_name(std::string_view source) {
  auto name = last_part(source);
  if (const auto* suffix = suffix_of(name)) name.remove_suffix(suffix->text.size());
  return std::string(name);
}

std::string with_stage(std::string text, std::string_view folder) {
  for (std::size_t at = 0; (at = text.find(stage_mark, at)) != std::string::npos;
       at += folder.size()) {
    text.replace(at, stage_mark.size(), folder);
  }
  return text;
}

std::vector<std::string> describe_stage(const StagePlan& stage, bool trains, int nodes) {
  std::vector<std::string> lines;
  for (const auto& source : stage.sources)
    lines.push_back(fmt::format("{} -> {}/{} on each node's own disk", source, stage_mark,
                                staged_name(source)));
  if (stage.programs)
    lines.push_back(
        fmt::format("{} -> each node's own disk{}; `stage: [no-programs]` turns it off",
                    trains ? "dllaunch, dltrain and its libraries" : "dllaunch",
                    nodes > most_nodes_reading_programs
                        ? fmt::format(", as above {} nodes", most_nodes_reading_programs)
                        : ""));
  return lines;
}

std::vector<std::string> own_libraries(std::string_view ldd_output) {
  constexpr std::string_view arrow = " => ";
  std::vector<std::string> found;
  for (auto line : split_lines(ldd_output)) {
    const auto at = line.find(arrow);
    if (at == std::string_view::npos) continue;
    line.remove_prefix(at + arrow.size());
    line = line.substr(0, line.rfind(" (0x"));
    if (line.starts_with('/') && !is_system_library(line)) found.emplace_back(line);
  }
  return found;
}

}  // namespace dllaunch
