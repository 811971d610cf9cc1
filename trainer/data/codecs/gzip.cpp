#include "trainer/data/codecs/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace dllaunch {
namespace {

bool begins_like_gzip(std::span<const std::uint8_t> content) {
  return content.size() >= 2 && content[0] == 0x1f && content[1] == 0x8b;
}

Error damaged(std::string_view why) {
  return {ErrorKind::bad_request, "gzip data damaged: " + std::string(why), "get the file again"};
}

Error cut_off() {
  return {ErrorKind::bad_request, "gzip data truncated", "get the file again"};
}

}  // namespace

struct ByteReader::Inflate {
  z_stream stream{};
  bool ended = false;  // the last member is complete and its checksum matched

  Inflate() { inflateInit2(&stream, MAX_WBITS + 16); }
  ~Inflate() { inflateEnd(&stream); }
};

ByteReader::ByteReader(std::span<const std::uint8_t> content)
    : rest_(content), size_(content.size()) {
  if (begins_like_gzip(content)) inflate_ = std::make_unique<Inflate>();
}

ByteReader::~ByteReader() = default;

std::uint64_t ByteReader::most_bytes() const {
  return inflate_ ? static_cast<std::uint64_t>(size_) * 1032 : size_;
}

Result<std::size_t> ByteReader::read(std::span<std::uint8_t> out) {
  if (inflate_) return inflate_into(out);
  const std::size_t count = std::min(out.size(), rest_.size());
  std::copy_n(rest_.begin(), count, out.begin());
  rest_ = rest_.subspan(count);
  return count;
}

Result<std::size_t> ByteReader::inflate_into(std::span<std::uint8_t> out) {
  constexpr std::size_t chunk = std::numeric_limits<uInt>::max();
  z_stream& stream = inflate_->stream;
  std::size_t done = 0;
  while (done < out.size() && !inflate_->ended) {
    stream.next_in = const_cast<Bytef*>(rest_.data());
    stream.avail_in = static_cast<uInt>(std::min(rest_.size(), chunk));
    stream.next_out = out.data() + done;
    stream.avail_out = static_cast<uInt>(std::min(out.size() - done, chunk));
    const uInt had_in = stream.avail_in;
    const uInt had_out = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    rest_ = rest_.subspan(had_in - stream.avail_in);
    done += had_out - stream.avail_out;
    if (status == Z_STREAM_END) {
      // gzip files may be concatenated: after a member comes another one or trailing data.
      inflate_->ended = !begins_like_gzip(rest_);
      if (!inflate_->ended) inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && rest_.empty() && stream.avail_out > 0)) {
      return cut_off();
    } else if (status != Z_OK) {
      return damaged(stream.msg != nullptr ? stream.msg : zError(status));
    }
  }
  return done;
}

Result<Ok> ByteReader::expect_end() {
  std::uint8_t extra = 0;
  auto more = read({&extra, 1});
  if (!more) return std::move(more).error();
  if (*more != 0 || !rest_.empty()) {
    return Error{ErrorKind::bad_request, "bytes follow the end of the data", "get the file again"};
  }
  return Ok{};
}

}  // namespace dllaunch
