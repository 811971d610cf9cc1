// What is copied to every node's local disk before the ranks start (docs/how-to/staging.md). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct StagePlan {
  std::vector<std::string> sources = {};  // absolute paths: directories, archives, other files
  bool programs = false;                  // dllaunch, and the trainer with its libraries
  bool broadcast = false;  // read once and distributed by sbcast; else every node reads
  bool wanted() const { return programs || !sources.empty(); }
};

/// Up to this many nodes, ranks may read programs from the shared file system.
constexpr int most_nodes_reading_programs = 32;
/// Up to this many nodes, each reads the sources itself, which needs no room for a packed copy.
constexpr int most_nodes_reading_sources = 8;

/// Placeholder for the folder, whose name is not known yet, in commands, variables and `train:`.
constexpr std::string_view stage_mark = "{stage}";
/// dllaunch's file, in a subfolder so that it cannot clash with user files.
constexpr std::string_view staged_train_json = "{stage}/.dllaunch/train.json";
/// The path of a staged dllaunch program.
std::string staged_program(std::string_view path);

/// `wishes`: the job file's `stage:`: paths, relative to `work_dir`, and the words `programs` and
/// `no-programs`.
StagePlan plan_stage(const std::vector<std::string>& wishes, int nodes,
                     const std::string& work_dir);

/// bad_request: two sources would have the same name.
Result<Ok> check_stage(const StagePlan& stage);

enum class ArchiveKind { none, tar, zip };
/// Determined from the name.
ArchiveKind archive_kind(std::string_view path);

/// The name of a source in the folder: the last part of its path, for archives without ".tar.gz" or
/// the like.
std::string staged_name(std::string_view source);

/// The text with every placeholder replaced by `folder`.
std::string with_stage(std::string text, std::string_view folder);

/// Lines for people: what is copied where, and how to turn it off.
std::vector<std::string> describe_stage(const StagePlan& stage, bool trains, int nodes);

/// The libraries in the output of `ldd` outside the system's folders, which every node has.
std::vector<std::string> own_libraries(std::string_view ldd_output);

}  // namespace dllaunch
