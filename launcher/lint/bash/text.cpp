#include "launcher/lint/bash/text.hpp"

#include <algorithm>

namespace dllaunch::lint {

bool Text::overflows(std::size_t more, std::size_t more_marks) {
  constexpr std::size_t most_marks = 64;
  if (bytes_.size() + more <= most_bytes && marks_.size() + more_marks <= most_marks) return false;
  const std::size_t source = pieces_.empty() ? 0 : pieces_.front().source;
  bytes_.assign(1, hole);
  pieces_.assign(1, {0, source});
  marks_.assign(1, {0, "", source, false});
  return true;
}

void Text::add(std::string_view bytes, std::size_t source) {
  if (bytes.empty() && !pieces_.empty()) return;
  if (overflows(bytes.size(), 0)) return;
  const bool continues =
      !pieces_.empty() && pieces_.back().source + (bytes_.size() - pieces_.back().at) == source;
  if (!continues) pieces_.push_back({bytes_.size(), source});
  bytes_ += bytes;
}

void Text::add_hole(const std::string& name, std::size_t source) {
  if (overflows(1, 1)) return;
  marks_.push_back({bytes_.size(), name, source, false});
  pieces_.push_back({bytes_.size(), source});
  bytes_ += hole;
}

void Text::add_gap(const std::string& name, std::size_t source) {
  if (overflows(0, 1)) return;
  marks_.push_back({bytes_.size(), name, source, true});
}

void Text::append(const Text& other) {
  const Text copy = &other == this ? other : Text{};
  const Text& from = &other == this ? copy : other;
  if (overflows(from.bytes_.size(), from.marks_.size())) return;
  const std::size_t shift = bytes_.size();
  for (const Piece& piece : from.pieces_) pieces_.push_back({piece.at + shift, piece.source});
  for (Mark mark : from.marks_) {
    mark.at += shift;
    marks_.push_back(std::move(mark));
  }
  bytes_ += from.bytes_;
}

Text Text::part(std::size_t begin, std::size_t count) const {
  begin = std::min(begin, bytes_.size());
  count = std::min(count, bytes_.size() - begin);
  Text cut;
  cut.bytes_ = bytes_.substr(begin, count);
  cut.pieces_.push_back({0, source(begin)});
  for (const Piece& piece : pieces_) {
    if (piece.at > begin && piece.at < begin + count) {
      cut.pieces_.push_back({piece.at - begin, piece.source});
    }
  }
  for (Mark mark : marks_) {
    const std::size_t end = mark.gap ? mark.at : mark.at + 1;
    if (mark.at < begin || end > begin + count) continue;
    mark.at -= begin;
    cut.marks_.push_back(std::move(mark));
  }
  return cut;
}

bool Text::has_gap() const {
  return std::any_of(marks_.begin(), marks_.end(), [](const Mark& mark) { return mark.gap; });
}

std::size_t Text::source(std::size_t at) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                      [](std::size_t i, const Piece& p) { return i < p.at; });
  if (after == pieces_.begin()) return marks_.empty() ? 0 : marks_.front().source;
  return std::prev(after)->source + (at - std::prev(after)->at);
}

long number_of(std::string_view text) {
  if (text.empty() || text.size() > 9) return -1;
  long number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

long number_of(const Text& text) {
  return number_of(std::string_view(text.bytes()));
}

}  // namespace dllaunch::lint
