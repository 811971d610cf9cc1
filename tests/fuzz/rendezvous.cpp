// What comes over a socket before a rank's program starts, /proc/net/unix, and /proc/PID/stat.
#include <sstream>

#include "launcher/os/ancestors.hpp"
#include "launcher/rank/rendezvous/local_listener.hpp"
#include "launcher/rank/rendezvous/messages.hpp"
#include "support/network/proof.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  parse_stat(text);
  if (const auto point = parse_rendezvous_point(text, "s")) {
    must_hold(point->port > 0 && point->port < 65536, "a port is a port");
    const auto again = parse_rendezvous_point(to_line(*point, "s"), "s");
    must_hold(again && again->address == point->address &&
                  again->server_port == point->server_port && again->secret == point->secret,
              "a meeting point comes back as it was");
  }
  if (const auto question = parse_question(text, "s")) {
    must_hold(question->rank >= 0, "a rank is not negative");
    must_hold(question->worker.find_first_of("\n\" ") == std::string::npos, "one plain word");
    const auto again = parse_question(to_line(*question, "s"), "s");
    must_hold(again && again->worker == question->worker && again->to == question->to &&
                  again->nonce == question->nonce,
              "a question comes back as it was");
  }
  must_hold(!unseal("secret", question_purpose, "", text), "random bytes prove nothing");
  const auto sealed = seal("secret", question_purpose, "", text);
  must_hold(unseal("secret", question_purpose, "", sealed.substr(0, sealed.size() - 1)) == text,
            "what is sealed comes back");
  std::istringstream list{std::string(text)};
  for (const auto& name : listening_names(list, "door"))
    must_hold(name.starts_with("door"), "only what was asked for");
  if (const auto workers = parse_workers(text, 2)) {
    must_hold(workers->size() == 2, "as many as asked for");
    must_hold(bool(parse_workers(workers_line(*workers), 2)), "a table comes back");
  }
  return 0;
}
