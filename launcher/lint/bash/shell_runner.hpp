// The implementation of run_shell(); private to it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "launcher/lint/bash/shell_run.hpp"

namespace dllaunch::lint {

/// An abstract interpreter. expand_words.cpp: words; walk_commands.cpp: compound commands;
/// run_commands.cpp: simple commands; run_builtins.cpp: builtins.
class ShellRunner {
 public:
  ShellRunner(const ShellTree& tree, std::string_view script);

  ShellRun run();

 private:
  /// A function's body and the text that contains it.
  struct Function {
    const Node* body = nullptr;
    const Text* frame = nullptr;
  };
  /// Switches to another text, and back in the destructor.
  class InFrame {
   public:
    InFrame(ShellRunner& runner, const Text* frame) : runner_(runner), outer_(runner.frame_) {
      runner_.frame_ = frame;
    }
    InFrame(const InFrame&) = delete;
    InFrame& operator=(const InFrame&) = delete;
    ~InFrame() { runner_.frame_ = outer_; }

   private:
    ShellRunner& runner_;
    const Text* outer_;
  };

  // Expansion of words.
  struct Fields {
    std::vector<Text> words = {};
    Text current = {};
    bool started = false;
    bool empty_quotes = false;  // "" is a word
    bool empty_list = false;    // "${none[@]}" is no word

    void finish();
  };
  std::vector<Text> expand(const Word& word);
  Text expand_whole(const std::vector<Part>& parts);
  void expand_part(const Part& part, Fields& fields);
  void expand_variable(const Part& part, Fields& fields);
  bool expand_list(const Part& part, Fields& fields);
  void expand_operation(const Part& part, Fields& fields);
  void add_value(const Text& value, bool quoted, Fields& fields);
  void add_hole(const std::string& name, const Part& part, Fields& fields);
  Text literal(const Part& part) const;
  std::string source_text(const Part& part) const;
  /// Null: unknown. An unset variable is known to be empty.
  ValuePtr look_up(const std::string& name) const;
  void note_read(const std::string& name, std::size_t at);

  // Commands. They return false if what follows is never reached.
  bool walk(const Node& node);
  bool walk_foreground(const Node& node);
  bool walk_all(const std::vector<Node>& nodes);
  bool walk_choice(const Node& node);
  bool walk_cases(const Node& node);
  bool walk_and_or(const Node& node);
  bool walk_loop(const Node& node);
  void walk_aside(const Node& node);
  bool run_command(const Node& node);
  bool run_words(const Node& node, const std::vector<Text>& words);
  bool keeps(std::span<const Text> words);
  void keep_documents(const Node& node);
  void assign(const Assignment& assignment, bool exported);
  void assign_array(const Assignment& assignment, Value& value);
  void store(const std::string& name, Value value);
  void forget(const std::string& name);
  void run_unseen_functions();

  // Commands that change the shell itself.
  std::optional<bool> run_builtin(const Node& node, const std::vector<Text>& words);
  void run_declaration(const Node& node, const std::vector<Text>& words);
  void run_set(const std::vector<Text>& words);
  void run_source(const std::vector<Text>& words);
  void run_assigning(const std::vector<Text>& words);
  void walk_handler(const Text& handler);
  bool call_function(const Function& function, const std::vector<Text>& words);

  // Text that is run as a script.
  bool run_text(const Text& text, bool per_rank);
  void run_ranks(const std::vector<Text>& words);
  std::map<std::string, ValuePtr> inherited() const;

  std::size_t where(std::size_t offset) const { return frame_ ? frame_->source(offset) : offset; }

  static constexpr std::size_t most_steps = 1'000'000;
  static constexpr int most_calls = 20;
  static constexpr std::size_t most_frames = 500;

  const ShellTree& tree_;
  std::string_view script_;
  ShellRun run_;
  Variables variables_;
  std::map<std::string, Function> functions_;
  std::set<const Node*> called_;
  std::map<std::string, Text> files_;         // written from here-documents, by base name
  std::vector<std::vector<Text>> arguments_;  // of the active functions
  std::vector<std::map<std::string, ValuePtr>> locals_;
  /// Text that is run as a script.
  struct Frame {
    Text text = {};
    ShellTree tree = {};
  };
  std::vector<std::unique_ptr<Frame>> frames_;
  const Text* frame_ = nullptr;  // the current text; null: the script itself
  std::size_t steps_ = 0;
  std::size_t kept_bytes_ = 0;
  int calls_ = 0;
  int loops_ = 0;
  std::size_t exits_ = 0;  // `exit` and `exec` seen so far
  bool per_rank_ = false;
  bool background_ = false;
  bool unseen_ = false;
};

}  // namespace dllaunch::lint
