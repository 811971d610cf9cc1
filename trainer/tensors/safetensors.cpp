#include "trainer/tensors/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <unistd.h>

#include <fmt/core.h>

#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/regular_file.hpp"
#include "trainer/tensors/whole_file.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // the limit of the reference implementation

constexpr std::array<std::pair<std::string_view, DType>, 5> types = {{{"F32", DType::f32},
                                                                      {"F64", DType::f64},
                                                                      {"F16", DType::f16},
                                                                      {"BF16", DType::bf16},
                                                                      {"I64", DType::i64}}};

std::string_view word_of(DType type) {
  const auto found = std::ranges::find(types, type, [](const auto& each) { return each.second; });
  assert(found != types.end());
  return found->first;
}

std::optional<DType> type_of(std::string_view word) {
  const auto found = std::ranges::find(types, word, [](const auto& each) { return each.first; });
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

Error broken(std::string what) {
  return {ErrorKind::bad_request, std::move(what), ""};
}

/// Rejects duplicate keys, which the format forbids.
Result<Json> parse_without_duplicates(std::string_view text) {
  std::string twice;
  Json header = Json::parse_noting_repeats(text, twice);
  if (const auto limit = header.is_discarded() ? exceeded_json_limit(text) : ""; !limit.empty())
    return broken("the header is too large: " + limit);
  if (header.is_discarded() || !header.is_object())
    return broken("the header is not a JSON object");
  if (!twice.empty())
    return broken(fmt::format("the header has the key '{}' twice", shown_name(twice)));
  return header;
}

bool is_count(const Json& value) {
  return value.is_number_unsigned();
}

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Result<Range> read_range(const Json& entry, std::uint64_t buffer_bytes) {
  if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2 || !is_count(entry["data_offsets"][0]) ||
      !is_count(entry["data_offsets"][1])) {
    return broken("data_offsets is not a pair of offsets");
  }
  const Range range{entry["data_offsets"][0], entry["data_offsets"][1]};
  if (range.begin > range.end || range.end > buffer_bytes) {
    return broken(fmt::format("data_offsets [{}, {}] lie outside the {} bytes of data", range.begin,
                              range.end, buffer_bytes));
  }
  return range;
}

Result<Shape> read_shape(const Json& entry) {
  if (!entry.contains("shape") || !entry["shape"].is_array()) return broken("no shape");
  Shape shape;
  for (const auto& extent : entry["shape"]) {
    if (!is_count(extent) ||
        extent.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      return broken("an extent of the shape is not a count");
    }
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

/// Returns whether a tensor of this shape has this size. Avoids a product that could overflow.
bool has_bytes(const Shape& shape, DType type, std::uint64_t bytes) {
  if (std::ranges::find(shape, 0) != shape.end()) return bytes == 0;
  if (bytes % bytes_of(type) != 0) return false;
  std::uint64_t elements = bytes / bytes_of(type);
  for (const std::int64_t extent : shape) {
    if (elements % static_cast<std::uint64_t>(extent) != 0) return false;
    elements /= static_cast<std::uint64_t>(extent);
  }
  return elements == 1;
}

struct Located {
  Tensor tensor;  // without its data yet
  Range range;
};

Result<Located> read_entry(const std::string& name, const Json& entry, std::uint64_t buffer_bytes) {
  if (!entry.is_object()) return broken("no object");
  if (entry.size() != 3) return broken("needs dtype, shape and data_offsets, nothing else");
  if (!entry.contains("dtype") || !entry["dtype"].is_string()) return broken("no dtype");
  const auto type = type_of(entry["dtype"].text());
  if (!type) {
    return broken(fmt::format("dtype {} is not one of F32, F64, F16, BF16 and I64",
                              shown_name(entry["dtype"].get<std::string>())));
  }
  auto shape = read_shape(entry);
  if (!shape) return std::move(shape).error();
  auto range = read_range(entry, buffer_bytes);
  if (!range) return std::move(range).error();
  if (!has_bytes(*shape, *type, range->end - range->begin)) {
    return broken(fmt::format("shape {} of {} does not fill {} bytes", shown_shape(*shape),
                              word_of(*type), range->end - range->begin));
  }
  return Located{{.name = name, .type = *type, .shape = *std::move(shape), .data = {}}, *range};
}

/// Checks that every byte of the buffer belongs to exactly one tensor.
Result<Ok> check_coverage(std::vector<Located>& located, std::uint64_t buffer_bytes) {
  std::ranges::sort(located, [](const Located& a, const Located& b) {
    return std::pair(a.range.begin, a.range.end) < std::pair(b.range.begin, b.range.end);
  });
  std::uint64_t covered = 0;
  for (const auto& [tensor, range] : located) {
    if (range.begin != covered) {
      return broken(fmt::format("tensor '{}' {} the one before it", shown_name(tensor.name),
                                range.begin < covered ? "overlaps" : "leaves a hole after"));
    }
    covered = range.end;
  }
  if (covered != buffer_bytes) {
    return broken(fmt::format("{} bytes at the end belong to no tensor", buffer_bytes - covered));
  }
  return Ok{};
}

Result<std::map<std::string, std::string>> read_metadata(const Json& entry) {
  std::map<std::string, std::string> metadata;
  if (!entry.is_object()) return broken("__metadata__ is not an object");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return broken("__metadata__ has a value that is not a string");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// Returns the header's length. `bytes` is the size of the file, `start` its beginning.
Result<std::uint64_t> header_length(std::span<const std::byte> start, std::uint64_t bytes) {
  if (start.size() < length_bytes) return broken("truncated: no room for the header's length");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  }
  if (length > longest_header) return broken(fmt::format("a header of {} bytes", length));
  if (length > bytes - length_bytes) return broken("truncated within the header");
  return length;
}

struct Layout {
  std::vector<Located> located;  // sorted by offset; they cover the buffer
  std::map<std::string, std::string> metadata;
};

/// `text` is the header, `buffer_bytes` the size of the data after it.
Result<Layout> read_layout(std::string_view text, std::uint64_t buffer_bytes) {
  if (text.empty() || text.front() != '{') return broken("the header does not begin with {");
  auto header = parse_without_duplicates(text);
  if (!header) return std::move(header).error();
  Layout layout;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") {
      auto metadata = read_metadata(entry);
      if (!metadata) return std::move(metadata).error();
      layout.metadata = *std::move(metadata);
      continue;
    }
    auto found = read_entry(name, entry, buffer_bytes);
    if (!found) return std::move(found).error().within("tensor '" + shown_name(name) + "'");
    layout.located.push_back(*std::move(found));
  }
  if (auto covered = check_coverage(layout.located, buffer_bytes); !covered) {
    return std::move(covered).error();
  }
  return layout;
}

}  // namespace

std::string shown_name(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text(name.substr(0, longest));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return name.size() > longest ? text + "..." : text;
}

std::string shown_shape(const Shape& shape) {
  constexpr std::size_t most = 8;
  return shape.size() > most ? fmt::format("[{} extents]", shape.size()) : to_string(shape);
}

std::string render_safetensors_header(TensorFile& file) {
  std::ranges::sort(file.tensors, [](const Tensor& a, const Tensor& b) {
    const std::size_t size = bytes_of(a.type);
    const std::size_t other = bytes_of(b.type);
    return size != other ? size > other : a.name < b.name;
  });
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t offset = 0;
  for (const auto& tensor : file.tensors) {
    header[tensor.name] = {{"dtype", word_of(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return length + text;
}

Result<TensorFile> parse_safetensors(std::span<const std::byte> content) {
  const auto length = header_length(content, content.size());
  if (!length) return length.error();
  const auto* text = reinterpret_cast<const char*>(content.data() + length_bytes);
  const auto buffer = content.subspan(length_bytes + *length);
  auto layout = read_layout({text, *length}, buffer.size());
  if (!layout) return std::move(layout).error();
  TensorFile file{.tensors = {}, .metadata = std::move(layout->metadata)};
  for (auto& [tensor, range] : layout->located) {
    const auto bytes = buffer.subspan(range.begin, range.end - range.begin);
    tensor.data.assign(bytes.begin(), bytes.end());
    file.tensors.push_back(std::move(tensor));
  }
  std::ranges::sort(file.tensors, {}, &Tensor::name);
  return file;
}

namespace {

/// Reads only the header, so that a large file in another format is rejected quickly.
Result<Ok> judge_header(const std::filesystem::path& path, std::uint64_t bytes) {
  const int file = open_regular_file(path.string());
  if (file < 0) return broken("it was replaced while it was read");
  const auto start = bytes_at(file, 0, length_bytes);
  const auto length = header_length(std::as_bytes(std::span(start)), bytes);
  const auto text = length ? bytes_at(file, length_bytes, *length) : std::string();
  ::close(file);
  if (!length) return length.error();
  auto layout = read_layout(text, bytes - length_bytes - *length);
  if (!layout) return std::move(layout).error();
  return Ok{};
}

}  // namespace

Result<TensorFile> read_safetensors(const std::filesystem::path& path) {
  constexpr const char* name_one = "name a .safetensors file";
  if (std::error_code failed; !std::filesystem::exists(path, failed)) {
    if (!failed) failed = std::make_error_code(std::errc::no_such_file_or_directory);
    return Error{ErrorKind::bad_request,
                 fmt::format("cannot read {}: {}", path.string(), failed.message()), name_one};
  }
  constexpr const char* how =
      "PyTorch writes such a file with safetensors.torch.save_file(model.state_dict(), FILE)";
  const auto named = [&](Error error) {
    error = std::move(error).within(path.string());
    if (error.kind == ErrorKind::bad_request) error.hint = how;
    return error;
  };
  const auto content =
      read_whole_file(path, [&](std::uint64_t bytes) { return judge_header(path, bytes); });
  if (!content) return named(content.error());
  auto file = parse_safetensors(*content);
  if (!file) return named(std::move(file).error());
  return file;
}

}  // namespace dllaunch
