#include "trainer/session/agreement.hpp"

#include <cstdint>

namespace dllaunch {

std::optional<Error> agree(Communicator& communicator, std::optional<Error> mine) {
  // The largest vote wins: that of the lowest failing rank. The low bits hold the error kind.
  constexpr std::int64_t kinds = 8;
  std::int64_t vote = 0;
  if (mine) {
    vote =
        (communicator.size() - communicator.rank()) * kinds + static_cast<std::int64_t>(mine->kind);
  }
  communicator.wait(communicator.all_reduce(&vote, 1, DType::i64, ReduceOp::max));
  if (vote == 0) return std::nullopt;
  if (communicator.size() - vote / kinds == communicator.rank()) return mine;
  return Error{static_cast<ErrorKind>(vote % kinds), "", ""};
}

}  // namespace dllaunch
