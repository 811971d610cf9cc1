#include "runtime/communicators/peers/exchanges.hpp"

#include <cassert>
#include <utility>

namespace dllaunch {

Pending Exchanges::open() {
  const Pending exchange{next_id_++};
  live_[exchange.id] = {};
  return exchange;
}

void Exchanges::at_end(Pending exchange, std::function<void()> action) {
  live_.at(exchange.id).at_end = std::move(action);
}

bool Exchanges::is_done(Pending exchange) const {
  assert(exchange.id < next_id_);
  return !live_.contains(exchange.id);
}

void Exchanges::finish_one_of(std::int64_t id) {
  const auto found = live_.find(id);
  assert(found != live_.end());
  Exchange& exchange = found->second;
  if (--exchange.unfinished > 0) return;
  if (const auto action = std::exchange(exchange.at_end, nullptr)) action();
  if (exchange.unfinished == 0) live_.erase(id);
}

}  // namespace dllaunch
