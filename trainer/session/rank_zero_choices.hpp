// What rank 0 chose by measuring, for all ranks (see SharedChoices).
#pragma once

#include <string>

#include "runtime/communicators/communicator.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch {

/// One collective exchange through the communicator. A rank whose backend ended before it, or has
/// no choices, takes part in attend(), so no rank waits in vain. The communicator must outlive it.
class RankZeroChoices final : public SharedChoices {
 public:
  explicit RankZeroChoices(Communicator& communicator) : communicator_(communicator) {}
  bool decides() const override { return communicator_.rank() == 0; }
  /// Empty after the first call.
  std::string share(std::string mine) override;
  /// Collective. Call after compile() on every rank.
  void attend() { share(""); }

 private:
  Communicator& communicator_;
  bool done_ = false;
};

}  // namespace dllaunch
