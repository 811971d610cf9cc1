#include <array>

#include "launcher/lint/bash/given_options.hpp"
#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/bash/shell_runner.hpp"

namespace dllaunch::lint {
namespace {

/// Variables of a launcher's environment that rules examine.
constexpr std::array<const char*, 21> inherited_names = {"OMP_NUM_THREADS",
                                                         "SRUN_CPUS_PER_TASK",
                                                         "SLURM_CPUS_PER_TASK",
                                                         "SLURM_CPU_BIND",
                                                         "SLURM_GPU_BIND",
                                                         "SLURM_TRES_BIND",
                                                         "SLURM_GPUS_PER_TASK",
                                                         "SLURM_NTASKS",
                                                         "SLURM_NTASKS_PER_NODE",
                                                         "ROCR_VISIBLE_DEVICES",
                                                         "HIP_VISIBLE_DEVICES",
                                                         "CUDA_VISIBLE_DEVICES",
                                                         "GPU_DEVICE_ORDINAL",
                                                         "RANK",
                                                         "LOCAL_RANK",
                                                         "NODE_RANK",
                                                         "GROUP_RANK",
                                                         "WORLD_SIZE",
                                                         "MACHINE_RANK",
                                                         "MASTER_ADDR",
                                                         "MASTER_PORT"};

/// The name by which a script is written and called, including holes; empty if entirely unknown.
std::string file_name(const Text& path) {
  const std::string& bytes = path.bytes();
  const std::size_t slash = bytes.rfind('/');
  const std::string name = slash == std::string::npos ? bytes : bytes.substr(slash + 1);
  return name.find_first_not_of(Text::hole) == std::string::npos ? "" : name;
}

bool declares(const std::vector<Text>& words) {
  if (words.empty()) return false;
  const std::string& name = words[0].bytes();
  return name == "export" || name == "declare" || name == "typeset" || name == "local" ||
         name == "readonly";
}

}  // namespace

bool ShellRunner::run_command(const Node& node) {
  std::vector<Text> words;
  for (const Word& word : node.words) {
    for (Text& text : expand(word)) words.push_back(std::move(text));
  }
  for (const std::string& name : node.names) {
    note_read(name, where(node.begin));
    forget(name);
  }
  for (const Redirection& redirection : node.redirections) {
    expand(redirection.target);
  }
  keep_documents(node);
  if (node.words.empty()) {
    for (const Assignment& assignment : node.assignments) assign(assignment, false);
    return true;
  }
  if (declares(words)) {
    run_declaration(node, words);
    return true;
  }
  if (node.assignments.empty()) return run_words(node, words);
  const std::size_t mark = variables_.mark();
  for (const Assignment& assignment : node.assignments) assign(assignment, true);
  const bool goes_on = run_words(node, words);
  variables_.roll_back(mark);
  return goes_on;
}

bool ShellRunner::run_words(const Node& node, const std::vector<Text>& words) {
  if (words.empty()) return true;
  const auto function = functions_.find(words[0].bytes());
  if (function != functions_.end()) return call_function(function->second, words);
  if (const auto goes_on = run_builtin(node, words)) return *goes_on;

  const std::size_t program = skip_wrappers(words, 0);
  const std::string name = program < words.size() ? base_name(words[program]) : "";
  if (keeps(words)) {
    RanCommand command;
    command.words = words;
    command.begin = where(node.begin);
    command.end = where(node.end);
    command.per_rank = per_rank_;
    command.background = background_;
    command.in_loop = loops_ > 0;
    command.in_function_unseen = unseen_;
    if (is_launcher(name) || is_python(name)) command.environment = inherited();
    run_.commands.push_back(std::move(command));
  }
  if (name == "srun" || is_mpirun(name)) {
    run_ranks(std::vector<Text>(words.begin() + static_cast<std::ptrdiff_t>(program), words.end()));
  } else if (const std::size_t text = shell_text_index(words, program); text < words.size()) {
    const std::size_t mark = variables_.mark();
    run_text(words[text], per_rank_);
    variables_.roll_back(mark);
  }
  if (words[0].bytes() != "exec" || words.size() == 1) return true;
  ++exits_;
  return false;
}

/// Whether the limit allows one more command or value.
bool ShellRunner::keeps(std::span<const Text> words) {
  constexpr std::size_t most_bytes = 16'000'000;
  for (const Text& word : words)
    kept_bytes_ += 100 + word.bytes().size() + 64 * word.marks().size();
  return kept_bytes_ < most_bytes;
}

/// Follows the script that every rank runs.
void ShellRunner::run_ranks(const std::vector<Text>& words) {
  const std::span<const Text> behind = std::span(words).subspan(1);
  const bool slurm = base_name(words[0]) == "srun";
  const std::size_t program =
      slurm ? 1 + parse_slurm_options(behind, SlurmProgram::srun).program : 1;
  const std::size_t mark = variables_.mark();
  for (std::size_t i = program; i < words.size(); ++i) {
    const std::size_t text = shell_text_index(words, i);
    if (text < words.size()) {
      run_text(words[text], true);
      break;
    }
    const auto file = files_.find(file_name(words[i]));
    if (file == files_.end()) continue;
    const Text script = file->second;
    run_.rank_scripts.push_back(script);
    run_text(script, true);
  }
  variables_.roll_back(mark);
}

bool ShellRunner::run_text(const Text& text, bool per_rank) {
  if (calls_ >= most_calls || frames_.size() >= most_frames || ++steps_ > most_steps) return true;
  frames_.push_back(std::make_unique<Frame>());
  Frame& frame = *frames_.back();
  frame.text = text;
  frame.tree = read_shell(frame.text.bytes());
  assigned_names(frame.tree.root, run_.assigned);

  const bool outer_per_rank = per_rank_;
  const auto outer_functions = functions_;
  const InFrame inside(*this, &frame.text);
  per_rank_ = per_rank_ || per_rank;
  ++calls_;
  const bool goes_on = walk(frame.tree.root);
  --calls_;
  per_rank_ = outer_per_rank;
  functions_ = outer_functions;
  return goes_on;
}

std::map<std::string, ValuePtr> ShellRunner::inherited() const {
  std::map<std::string, ValuePtr> environment;
  for (const char* name : inherited_names) {
    const ValuePtr value = variables_.find(name);
    // Slurm exports its own variables.
    const bool exported = value && (value->exported || std::string(name).starts_with("SLURM_"));
    if (exported && value->set) environment[name] = value;
  }
  return environment;
}

/// Records generated scripts: cat > wrapper << END.
void ShellRunner::keep_documents(const Node& node) {
  for (const HereDocument& document : node.documents) {
    const Text body = expand_whole(document.parts);
    if (!body.bytes().starts_with("#!")) continue;
    for (const Redirection& redirection : node.redirections) {
      if (redirection.operation != ">" && redirection.operation != ">|") continue;
      for (const Text& target : expand(redirection.target)) {
        if (!file_name(target).empty()) files_[file_name(target)] = body;
      }
    }
    if (node.words.size() < 2) continue;
    const std::vector<Text> command = expand(node.words[0]);
    const std::vector<Text> target = expand(node.words.back());
    const bool tee = command.size() == 1 && target.size() == 1 && base_name(command[0]) == "tee";
    if (tee && !file_name(target[0]).empty()) files_[file_name(target[0])] = body;
  }
}

void ShellRunner::assign(const Assignment& assignment, bool exported) {
  const ValuePtr before = variables_.find(assignment.name);
  Value value;
  value.exported = exported;
  const Text given = expand_whole(assignment.value.parts);
  if (assignment.array) {
    assign_array(assignment, value);
  } else if (assignment.indexed) {
    value.text.add_hole(assignment.name, where(assignment.begin));
  } else if (assignment.append) {
    if (before && before->set) {
      value.text = before->text;
    } else if (!before && may_be_inherited(assignment.name)) {
      value.text.add_hole(assignment.name, where(assignment.begin));
    }
    value.text.append(given);
  } else {
    value.text = given;
  }
  Assigned seen;
  seen.name = assignment.name;
  seen.value = value.text;
  seen.begin = where(assignment.begin);
  seen.end = where(assignment.end);
  seen.value_begin = where(assignment.value.begin);
  seen.plain = !assignment.array && !assignment.indexed && !assignment.append && !frame_;
  seen.exported = exported || (before && before->exported);
  seen.per_rank = per_rank_;
  if (keeps(std::span(&value.text, 1))) run_.assignments.push_back(std::move(seen));
  store(assignment.name, std::move(value));
}

void ShellRunner::assign_array(const Assignment& assignment, Value& value) {
  value.array = true;
  const ValuePtr before = variables_.find(assignment.name);
  if (assignment.append && before && before->set) {
    if (before->array) value.elements = before->elements;
    if (!before->array) value.elements.push_back(before->text);
    if (!before->array && !before->text.known()) {  // one element, or any number
      value.array = false;
      value.text = before->text;
      return;
    }
  }
  for (const Word& word : assignment.elements) {
    for (Text& text : expand(word)) value.elements.push_back(std::move(text));
  }
  constexpr std::size_t most_elements = 256;
  if (value.elements.size() > most_elements) value.elements.resize(most_elements);
  if (!value.elements.empty()) value.text = value.elements.front();
}

}  // namespace dllaunch::lint
