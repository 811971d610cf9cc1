// Nothing of a script vanishes when it becomes a job file: each directive and each word of the line
// that launches the ranks is kept, translated, or listed at the job file's head.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "launcher/base/split.hpp"
#include "launcher/init/convert_sbatch.hpp"
#include "launcher/init/script_words.hpp"
#include "launcher/init/srun_words.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/lint.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
const fs::path root = DLLAUNCH_SOURCE_DIR;

std::string bytes_in(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The scripts of a folder beside this checkout; empty and a note if it is not there.
std::vector<fs::path> scripts_in(const std::string& folder) {
  std::vector<fs::path> scripts;
  const fs::path path = root / "../shared/data" / folder;
  if (!fs::is_directory(path)) {
    std::cerr << "no ../shared/data/" << folder << " beside this checkout\n";
    return scripts;
  }
  for (const auto& entry : fs::directory_iterator(path)) {
    const auto kind = entry.path().extension();
    if (kind == ".sbatch" || kind == ".slurm" || kind == ".sh") scripts.push_back(entry.path());
  }
  std::ranges::sort(scripts);
  return scripts;
}

void add_texts(const Json& value, std::string& texts) {
  if (value.is_string()) texts += value.get<std::string>() + "\n";
  if (value.is_object())
    for (const auto& [key, held] : value.items()) texts += key + "\n";
  if (value.is_structured())
    for (const auto& held : value) add_texts(held, texts);
}

/// All words of a job file, its comments too, without YAML's quotes.
std::string texts_of(const std::string& yaml) {
  std::string texts;
  for (const auto line : split_lines(yaml))
    if (line.starts_with("#")) texts += std::string(line) + "\n";
  const auto parsed = parse_job(yaml, "job.yaml", {});
  if (parsed.job) add_texts(stored_json(*parsed.job), texts);
  return texts;
}

/// Another test compares what Slurm gives for these (PublicScriptsAskForTheSameResources). Of gres
/// it is the GPUs alone.
bool is_counted(const std::string& option, const std::string& value) {
  if (option == "gres")
    return std::ranges::all_of(split_at(value, ','),
                               [](std::string_view piece) { return asks_for_gpus(piece); });
  static const std::set<std::string> counted = {"nodes",
                                                "ntasks",
                                                "ntasks-per-node",
                                                "ntasks-per-gpu",
                                                "ntasks-per-socket",
                                                "cpus-per-task",
                                                "cpus-per-gpu",
                                                "gpus",
                                                "gpus-per-node",
                                                "gpus-per-task",
                                                "gpus-per-socket",
                                                "tres-per-task",
                                                "exclusive",
                                                "ntasks-per-tres",
                                                "sockets-per-node",
                                                "cores-per-socket"};
  return counted.contains(option);
}

/// Looks for the words of one script in the job file that was made of it.
class Account {
 public:
  explicit Account(const std::string& text) : Account(text, text) {}
  /// Looks in what is made of another script.
  Account(const std::string& text, const std::string& other)
      : text_(text), script_(lint::read_script(text_)), job_(convert_sbatch(other, origin()).job) {
    if (!job_.empty()) texts_ = texts_of(job_);
  }

  bool converts() const { return !job_.empty(); }

  /// The words that are nowhere.
  std::vector<std::string> lost() {
    for (const auto& option : script_.directives.parsed.options)
      look_for_option(option.name, option.value.bytes());
    for (const auto& problem : script_.directives.parsed.problems) look_for(problem.option);
    for (const lint::Launch& launch : script_.launches)
      if (!launch.command->per_rank) look_for_launch(launch);
    return lost_;
  }

 private:
  static SbatchOrigin origin() { return {.file = "job.sbatch"}; }

  /// A part of a word may stand within another.
  void look_for(const std::string& word, bool whole = true) {
    if (word.find_first_not_of(" \t\n\\") == std::string::npos) return;
    const auto is_of_a_word = [this](std::size_t at) {
      return at < texts_.size() && std::isalnum(static_cast<unsigned char>(texts_[at])) != 0;
    };
    for (auto at = texts_.find(word); at != std::string::npos; at = texts_.find(word, at + 1))
      if (!whole || !((at > 0 && is_of_a_word(at - 1)) || is_of_a_word(at + word.size()))) return;
    lost_.push_back(word);
  }

  void look_for_option(const std::string& name, const std::string& value) {
    if (is_counted(name, value) || texts_.find("--" + name) != std::string::npos) return;
    std::string parts = value;
    if (name == "export" || name == "container-mounts") std::ranges::replace(parts, ',', '=');
    for (const auto part : split_at(parts, '='))
      if (part != "ALL") look_for(std::string(part));
    if (value.empty()) look_for("--" + name);
  }

  void look_for_launch(const lint::Launch& launch) {
    const auto* node = node_at(script_.tree.root, launch.command->begin);
    if (node == nullptr || (launch.program != "srun" && !lint::is_mpirun(launch.program))) return;
    const auto& words = node->words;
    const auto found = std::ranges::find_if(words, [&launch](const lint::Word& word) {
      const auto bytes = bytes_of(word);
      return bytes == launch.program || bytes.ends_with("/" + launch.program);
    });
    if (found == words.end()) return;
    const auto at = static_cast<std::size_t>(found - words.begin());
    std::size_t program = at + 1;
    if (launch.program == "srun") {
      program = read_srun_words(script_, launch, words, at + 1).program;
      for (const auto& option : launch.options.options) {
        look_for_option(option.name, option.value.bytes());
        if (is_narrower(option)) look_for("--" + option.name);
      }
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto before = i > at + 1 ? bytes_of(words[i - 1]) : "";
      const auto bytes = bytes_of(words[i]);
      const bool counts = before == "-np" || bytes == "-np" || bytes == "-x";
      if (i == at || (i > at && i < program) || counts) continue;
      if (before == "-x")
        look_for_option("export", bytes);
      else
        for (const auto& part : words[i].parts)
          look_for(part.kind == lint::PartKind::text
                       ? part.text
                       : text_.substr(part.begin, part.end - part.begin),
                   words[i].parts.size() == 1);
    }
    for (const auto& redirection : node->redirections)
      look_for(text_.substr(redirection.begin, redirection.end - redirection.begin));
  }

  /// Whether srun leaves GPUs of a node to others.
  bool is_narrower(const lint::GivenOption& option) const {
    std::string value = option.value.bytes();
    if (option.name == "gres" && value.starts_with("gpu:") && is_counted(option.name, value))
      value.erase(0, 4);
    else if (option.name != "gpus-per-node")
      return false;
    const long gpus = gpu_count(value);
    return gpus >= 0 && gpus < script_.request.node_gpus();
  }

  static const lint::Node* node_at(const lint::Node& node, std::size_t begin) {
    if (node.kind == lint::NodeKind::command && node.begin == begin) return &node;
    for (const auto& child : node.children)
      if (const auto* found = node_at(child, begin)) return found;
    return nullptr;
  }

  std::string text_;
  lint::Script script_;
  std::string job_;
  std::string texts_;
  std::vector<std::string> lost_;
};

TEST(EveryWord, OfPublicScriptsIsAccountedFor) {
  int all = 0;
  int converted = 0;
  for (const auto* folder : {"sbatch", "bugs/scripts"})
    for (const auto& path : scripts_in(folder)) {
      Account account(bytes_in(path));
      const bool is_public = folder == std::string("sbatch");  // the others may be meant to fail
      all += is_public ? 1 : 0;
      if (!account.converts()) continue;
      converted += is_public ? 1 : 0;
      EXPECT_THAT(account.lost(), ElementsAre()) << path;
    }
  if (all == 0) GTEST_SKIP() << "no ../shared/data beside this checkout";
  EXPECT_GE(converted * 100, all * 95) << converted << " of " << all;
}

TEST(EveryWord, IsMissedWhereItIsLost) {
  const std::string head = "#!/bin/bash\n#SBATCH -N 2\n";
  const std::string bare = head + "srun ./a x\n";
  for (const auto* whole :
       {"srun --label ./a x", "srun ./a x > out", "srun ./a x --y=1", "timeout 3h srun ./a x",
        "srun --export=ALL,N=5 ./a x", "srun --container-image=i.sqsh ./a x", "mpirun -x N=5 ./a x",
        "mpirun --bind-to core ./a x", "srun ./a x < in", "srun --gres=nvme:1 ./a x",
        "srun -J cited ./a x"}) {
    const std::string text = head + whole + "\n";
    EXPECT_THAT(Account(text).lost(), ElementsAre()) << whole;
    EXPECT_THAT(Account(text, bare).lost(), Not(ElementsAre())) << whole;
  }
  const std::string gpus = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4\n";
  for (const auto* narrow : {"--gpus-per-node=2", "--gres=gpu:2"}) {
    const std::string text = gpus + "srun " + narrow + " ./a x\n";
    EXPECT_THAT(Account(text).lost(), ElementsAre()) << narrow;
    EXPECT_THAT(Account(text, gpus + "srun ./a x\n").lost(), Not(ElementsAre())) << narrow;
  }
  EXPECT_THAT(Account("#!/bin/bash\n#SBATCH -N 2 --comment=cited\nsrun ./a x\n", bare).lost(),
              ElementsAre("cited"));
}

}  // namespace
}  // namespace dllaunch
