// Exchanges in progress: sets of messages, each with an action at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// An exchange has one or more messages. It is done, and forgotten, when the last one is.
class Exchanges {
 public:
  /// Starts an exchange without messages; at least one must be added.
  Pending open();
  /// Adds a message, of any kind.
  void add(Pending exchange) { ++live_.at(exchange.id).unfinished; }
  /// Sets an action to run when the last message of `exchange` ends, before it counts as done. The
  /// action may add messages and another action, which continues the exchange.
  void at_end(Pending exchange, std::function<void()> action);
  /// A message of the exchange with this id has ended.
  void finish_one_of(std::int64_t id);

  std::size_t live() const { return live_.size(); }  // exchanges that are not done
  bool is_done(Pending exchange) const;

 private:
  struct Exchange {
    int unfinished = 0;
    std::function<void()> at_end;
  };
  std::int64_t next_id_ = 1;
  std::unordered_map<std::int64_t, Exchange> live_;
};

}  // namespace dllaunch
