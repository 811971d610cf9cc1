// The state of the user's code, as git tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/os/system.hpp"

namespace dllaunch {

struct CodeState {
  std::string folder = {};         // in which git was asked
  std::string revision = {};       // empty: no commit yet
  std::string branch = {};         // empty: none is checked out
  std::optional<bool> dirty = {};  // a file that git tracks differs; nullopt: unknown
  std::string why = {};            // why something is unknown
  std::int64_t diff_bytes = 0;     // of RUN/code.diff; 0: there is none
  std::string diff_note = {};      // why it is cut or missing

  bool operator==(const CodeState&) const = default;
};

/// What `git status --porcelain=v2 --branch` printed. Pure.
CodeState code_state_in(std::string_view status);

/// Asks git, which changes nothing, starts no program that the repository names, and gets 2 s for
/// each question. A file with a filter that was written again counts as different; what is changed
/// within a submodule does not. nullopt: no git, or the folder is in no repository that git trusts.
std::optional<CodeState> read_code_state(System& system, const std::string& folder);

/// What differs from the revision, whole lines up to most_diff_bytes, within 2 s. Sets `diff_bytes`
/// and `diff_note`.
std::string read_code_diff(System& system, CodeState& code);

constexpr std::size_t most_diff_bytes = 1 << 20;

}  // namespace dllaunch
