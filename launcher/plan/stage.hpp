// What is copied to every node's own disk before the ranks start (docs/staging.md). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct StagePlan {
  std::vector<std::string> sources = {};  // absolute paths: directories, archives, other files
  bool programs = false;                  // dllaunch, and the trainer with its libraries
  bool broadcast = false;                 // read once and sent on by sbcast; else every node reads
  bool wanted() const { return programs || !sources.empty(); }
};

/// Up to so many nodes every rank may read its programs from the shared file system.
constexpr int most_nodes_reading_programs = 32;
/// Up to so many nodes each reads the sources for itself, which needs no room for a packed copy.
constexpr int most_nodes_reading_sources = 8;

/// What stands for the folder in commands, variables and `train:`, where its name is not known yet.
constexpr std::string_view stage_mark = "{stage}";
/// Ours lies in a folder inside it, so that no name of the user's is taken.
constexpr std::string_view staged_train_json = "{stage}/.dllaunch/train.json";
/// Where a program of ours is started from when it is staged.
std::string staged_program(std::string_view path);

/// `wishes` are the job file's `stage:`: paths, relative ones below `work_dir`, and the words
/// `programs` and `no-programs`.
StagePlan plan_stage(const std::vector<std::string>& wishes, int nodes,
                     const std::string& work_dir);

/// bad_request: two sources would get the same name.
Result<Ok> check_stage(const StagePlan& stage);

enum class ArchiveKind { none, tar, zip };
/// By its name.
ArchiveKind archive_kind(std::string_view path);

/// What a source is called in the folder: the last part of its path, of an archive without
/// ".tar.gz" or the like.
std::string staged_name(std::string_view source);

/// The text with the folder's name in place of every mark.
std::string with_stage(std::string text, std::string_view folder);

/// One line each for people: what goes where, and how to do without.
std::vector<std::string> describe_stage(const StagePlan& stage, bool trains, int nodes);

/// What `ldd` says a program needs beyond the system's folders, which every node has.
std::vector<std::string> own_libraries(std::string_view ldd_output);

}  // namespace dllaunch
