// What comes over a socket before two ranks exchange messages, and the frames after it.
#include "runtime/communicators/tcp/hello.hpp"

#include <sys/socket.h>

#include <array>

#include "runtime/communicators/tcp/conversation.hpp"
#include "support/network/proof.hpp"
#include "tests/fuzz/must_hold.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view secret = "secret";

std::string without_newline(std::string line) {
  line.pop_back();
  return line;
}

/// A line with a proof, as a rank with a defect would send it.
void read_proven(std::string_view body) {
  if (body.find('\n') != std::string_view::npos) return;
  const auto sealed = [&](std::string_view purpose, std::string_view nonce) {
    return without_newline(seal(secret, purpose, nonce, body));
  };
  if (const auto hello = parse_hello(sealed("hello", ""), secret)) {
    must_hold(hello->rank < hello->size && hello->to < hello->size, "ranks of the job");
    must_hold(parse_hello(without_newline(to_line(*hello, secret)), secret) == hello,
              "a hello comes back as it was");
  }
  parse_welcome(sealed("welcome", "n"), secret, "n");
  if (const auto table = parse_table(sealed("table", "n"), 2, secret, "n")) {
    must_hold(table->ranks.size() == 2, "one place a rank");
    must_hold(parse_table(without_newline(to_line(*table, secret, "n")), 2, secret, "n") == table,
              "a table comes back as it was");
  }
}

/// A conversation that expects two messages reads whatever comes.
void converse(std::string_view text) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return;
  FileDescriptor other(ends[1]);
  Conversation conversation;
  conversation.connect(FileDescriptor(ends[0]));
  std::array<std::byte, 8> small;
  std::vector<std::byte> large(Conversation::most_unasked_bytes + 1);
  std::vector<std::int64_t> ended;
  conversation.receive({1, 2, small.size()}, small.data(), {&ended, 1});
  conversation.receive({1, 2, large.size()}, large.data(), {&ended, 2});
  if (::send(other.get(), text.data(), text.size(), MSG_DONTWAIT) < 0) return;
  const auto broken = conversation.read();
  must_hold(conversation.outstanding() + static_cast<int>(ended.size()) == 2,
            "a message has come or is expected");
  if (broken.empty()) conversation.write();
}

}  // namespace
}  // namespace dllaunch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  must_hold(!parse_hello(text, secret), "random bytes prove nothing");
  must_hold(!parse_welcome(text, secret, "n"), "random bytes prove nothing");
  must_hold(!parse_table(text, 2, secret, "n"), "random bytes prove nothing");
  read_proven(text);
  converse(text);
  return 0;
}
