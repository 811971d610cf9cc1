#include "trainer/training/loss_failure.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "trainer/session/agreement.hpp"

namespace dllaunch {
namespace {

/// Returns the index of `node` in the graph; the number of nodes if it is not in it.
std::int64_t place_of(const std::string& node, const Graph& graph) {
  return std::ranges::find(graph.nodes, node, &Node::name) - graph.nodes.begin();
}

/// `node` is a result of first_non_finite().
std::string origin_of_loss(const std::string& node) {
  if (node.empty()) return "";
  if (node == "input") return ": the images already contain such numbers";
  return fmt::format(": {} is the first layer whose output has such a number", node);
}

}  // namespace

Error explain_loss(const BadLoss& loss, const Session& session, Communicator& communicator) {
  const TrainPosition& at = session.position;
  const bool infected = !std::isfinite(loss.own);
  const std::int64_t place =
      infected ? place_of(loss.culprit, session.whole()) : std::ssize(session.whole().nodes);
  std::int64_t earliest = place;
  communicator.wait(communicator.all_reduce(&earliest, 1, DType::i64, ReduceOp::min));
  std::optional<Error> mine;
  if (infected && place == earliest) {
    mine = Error{ErrorKind::unsatisfiable,
                 fmt::format("the loss is {} on rank {} at step {} (epoch {}){}",
                             std::isnan(loss.own) ? "NaN" : "infinite", communicator.rank(),
                             at.step + 1, at.epoch + 1, origin_of_loss(loss.culprit)),
                 loss.culprit == "input" ? "check the data set"
                                         : "use a smaller optimizer.lr, or a longer warm-up"};
  } else if (!infected && communicator.rank() == communicator.size() - 1) {
    // Every rank's loss is finite but the sum is not; the last rank reports it.
    mine = Error{ErrorKind::unsatisfiable,
                 fmt::format("the loss summed over ranks is infinite at step {} (epoch {})",
                             at.step + 1, at.epoch + 1),
                 "use a smaller optimizer.lr, or a longer warm-up"};
  }
  return *agree(communicator, std::move(mine));
}

}  // namespace dllaunch
