// What may be typed next on a command line: the answer to the completion of bash, zsh and fish.
// Reads the table of commands; what else there is (runs, clusters, keys) comes from its caller.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/command.hpp"

namespace dllaunch {

struct Candidate {
  std::string word = {};
  std::string what = {};  // a few words for people; may be empty
};

/// Which files the shell completes besides.
enum class WantedFiles { none, all, folders };

struct Completion {
  std::vector<Candidate> candidates = {};
  WantedFiles files = WantedFiles::none;
};

/// The values of an argument whose type the help shows as `type` ("RUN", "KEY.PATH=VALUE").
/// `word`: what was typed of it.
using ValuesOf =
    std::function<std::vector<Candidate>(std::string_view type, std::string_view word)>;

/// `words`: those after `dllaunch`, up to the one being typed, which is the last and may be empty.
Completion complete(std::span<const CommandGroup> known, const std::vector<std::string>& words,
                    const ValuesOf& values_of);

/// "WORD\tWHAT" in a line each, and ":files" or ":folders" where the shell has more to say.
std::string render_completion(const Completion& completion);

}  // namespace dllaunch
