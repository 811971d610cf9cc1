// How the gradients of a session are reduced.
#pragma once

#include "runtime/gradients/gradient_reducer.hpp"
#include "trainer/session/session.hpp"
#include "trainer/training/train.hpp"
#include "trainer/tuning/bucket_choice.hpp"

namespace dllaunch {

/// Collective.
GradientReducer make_reducer(const Session& session);

/// Where and for what the best bucket sizes are remembered.
BucketPlace bucket_place(const TrainOptions& options, const Session& session);

/// Not with gradient lag, whose reduction has a whole step's time, nor in a pipeline, whose stages
/// would measure each other.
bool tunes_buckets(const RuntimeConfig& runtime);

}  // namespace dllaunch
