#include "trainer/training/make_reducer.hpp"

#include <fmt/core.h>

#include "trainer/graph/frozen_parameters.hpp"

namespace dllaunch {

GradientReducer make_reducer(const Session& session) {
  const RuntimeConfig& runtime = session.config.runtime;
  const ParameterArenas& arenas = *session.arenas;
  return {*session.replicas,
          arenas.layout(),
          arenas.gradients(),
          arenas.plan(bucket_bytes(runtime)),
          {.overlap = runtime.overlap,
           .compression = runtime.compression,
           .lag = runtime.gradient_lag > 0,
           .scatter = arenas.sharded()}};
}

BucketPlace bucket_place(const TrainOptions& options, const Session& session) {
  const RuntimeConfig& runtime = session.config.runtime;
  const std::int64_t frozen = frozen_count(session.graph);
  return {.file = options.bucket_sizes,
          .nodes = options.nodes.value_or(1),
          .table = table_rows(*session.executable),
          .wire = fmt::format("{}{}{}{}", to_string(runtime.compression),
                              session.config.shard ? ", sharded" : "",
                              runtime.overlap ? "" : ", not overlapped",
                              frozen > 0 ? fmt::format(", {} frozen", frozen) : ""),
          .say = options.say};
}

bool tunes_buckets(const RuntimeConfig& runtime) {
  return !runtime.bucket_mb && runtime.gradient_lag == 0 && runtime.pipeline.stages == 1;
}

}  // namespace dllaunch
