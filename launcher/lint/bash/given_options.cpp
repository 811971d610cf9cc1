#include "launcher/lint/bash/given_options.hpp"

#include <utility>

namespace dllaunch::lint {

static_assert(Text::hole == unknown_piece);

ParsedOptions parse_slurm_options(std::span<const Text> words, SlurmProgram program) {
  std::vector<std::string_view> bytes;
  bytes.reserve(words.size());
  for (const Text& word : words) bytes.emplace_back(word.bytes());
  ReadOptions read = read_slurm_options(bytes, program);

  ParsedOptions parsed{.problems = std::move(read.problems),
                       .others = std::move(read.others),
                       .program = read.program,
                       .complete = read.complete};
  for (ReadOption& option : read.options) {
    GivenOption given;
    static_cast<ReadOption&>(given) = std::move(option);
    if (given.has_value) given.value = words[given.last_word].part(given.value_at);
    parsed.options.push_back(std::move(given));
  }
  return parsed;
}

const GivenOption* last_option(const ParsedOptions& parsed, std::string_view name) {
  const GivenOption* last = nullptr;
  for (const GivenOption& option : parsed.options) {
    if (option.name == name) last = &option;
  }
  return last;
}

}  // namespace dllaunch::lint
