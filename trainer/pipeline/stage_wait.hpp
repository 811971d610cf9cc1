// A rank's waits for other stages of its pipeline, where the watchdog sees them.
#pragma once

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "trainer/pipeline/schedule.hpp"

namespace dllaunch {

struct StageWait {
  StagePlace place = {};
  Peers* peers = nullptr;        // the stages
  Activity* activity = nullptr;  // may be nullptr

  /// Waits for an exchange with one other stage.
  void operator()(Pending exchange, int with_stage) const {
    if (activity != nullptr) activity->begin_wait_for(place.rank_of(with_stage));
    peers->wait(exchange);
    if (activity != nullptr) activity->end_wait();
  }
};

}  // namespace dllaunch
