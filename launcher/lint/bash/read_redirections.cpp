#include <algorithm>
#include <array>

#include "launcher/lint/bash/shell_reader.hpp"

namespace dllaunch::lint {

bool ShellReader::read_redirection(Node& node) {
  std::size_t i = pos_;
  while (i < end_ && text_[i] >= '0' && text_[i] <= '9') ++i;
  const bool both = at(i) == '&' && at(i + 1) == '>';
  if ((at(i) != '<' && at(i) != '>' && !both) || at(i + 1) == '(') return false;
  Redirection redirection{.begin = pos_};
  pos_ = i;
  static const std::array<std::string_view, 9> operations = {"<<<", "<<-", "<<", "<&", "<>",
                                                             ">>",  ">&",  ">|", "&>"};
  for (const std::string_view operation : operations) {
    if (redirection.operation.empty() && skips(operation)) redirection.operation = operation;
  }
  if (redirection.operation.empty()) redirection.operation = text_.substr(pos_++, 1);
  skip_blanks();
  redirection.target = read_word();
  redirection.end = pos_;
  const bool document = redirection.operation == "<<" || redirection.operation == "<<-";
  if (document) read_here_document(node, redirection);
  node.redirections.push_back(std::move(redirection));
  return true;
}

/// The body follows the line; it is read immediately and skipped at the line's end.
void ShellReader::read_here_document(Node& node, Redirection& redirection) {
  std::string delimiter;
  HereDocument document;
  document.expands = true;
  for (const Part& part : redirection.target.parts) {
    delimiter += part.kind == PartKind::text ? part.text : "";
    if (part.quoted) document.expands = false;
  }
  const bool patient = searched_ <= 4 * text_.size() + 4096;
  const std::size_t newline = patient ? std::min(text_.find('\n', pos_), end_) : end_;
  searched_ += newline - pos_;
  document.begin = std::max(std::min(end_, newline + 1), documents_end_);
  document.end = find_delimiter(delimiter, redirection.operation == "<<-", document.begin);
  if (document.end == end_) unclosed(redirection.target.begin, "here-document");
  documents_end_ = std::min(end_, std::min(text_.find('\n', document.end), end_) + 1);

  if (document.expands) {
    document.parts = read_document(document.begin, document.end);
  } else if (document.end > document.begin) {
    Part part;
    part.quoted = true;
    part.begin = document.begin;
    part.end = document.end;
    part.text = text_.substr(document.begin, document.end - document.begin);
    document.parts.push_back(std::move(part));
  }
  redirection.document = node.documents.size();
  node.documents.push_back(std::move(document));
}

/// The start of the line that holds only the delimiter; the end of the text if there is none.
std::size_t ShellReader::find_delimiter(const std::string& delimiter, bool strips_tabs,
                                        std::size_t begin) {
  for (std::size_t line = begin; line < end_;) {
    const std::size_t stop = std::min(text_.find('\n', line), end_);
    std::size_t from = line;
    while (strips_tabs && from < stop && text_[from] == '\t') ++from;
    std::string_view content = text_.substr(from, stop - from);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content == delimiter) return line;
    searched_ += stop + 1 - line;
    if (searched_ > 4 * text_.size() + 4096) return end_;
    line = stop + 1;
  }
  return end_;
}

void ShellReader::read_redirections(Node& node) {
  skip_blanks();
  while (!done() && read_redirection(node)) skip_blanks();
}

/// After a newline, skips the here-documents that were read with their commands.
void ShellReader::read_documents() {
  pos_ = std::max(pos_, documents_end_);
  documents_end_ = 0;
}

}  // namespace dllaunch::lint
