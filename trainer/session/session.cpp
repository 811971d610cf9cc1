#include "trainer/session/session.hpp"

#include <utility>

#include "trainer/data/image_preparation.hpp"

namespace dllaunch {

double bucket_bytes(const RuntimeConfig& runtime) {
  return runtime.bucket_mb.value_or(25) * 1024 * 1024;  // PyTorch's default
}

ArenaOptions arena_options(const TrainConfig& config, bool on_device) {
  return {.shard = config.shard,
          .on_device = on_device,
          .clip_norm = config.clip_norm,
          .average_decay = config.average.decay,
          .decay_vectors = config.decay_vectors};
}

Checkpoint snapshot(const Session& session, GatheredTensors tensors) {
  Checkpoint checkpoint;
  checkpoint.position = session.position;
  checkpoint.model = session.config.model;
  checkpoint.optimizer = session.config.optimizer;
  checkpoint.seed = session.config.seed;
  checkpoint.ranks = session.shape.ranks * session.place().stages;
  checkpoint.global_batch = session.shape.global_batch();
  checkpoint.class_names = session.dataset->class_names();
  checkpoint.normalization = session.normalization;
  checkpoint.weights = {.tensors = std::move(tensors.model),
                        .metadata = {{"format", "pt"}, {"model", session.config.model}}};
  checkpoint.states = {.tensors = std::move(tensors.states),
                       .metadata = {{"optimizer", session.config.optimizer},
                                    {"step", std::to_string(session.position.step)}}};
  return checkpoint;
}

LoaderOptions loader_options(const Session& session, Split split) {
  const TrainConfig& config = session.config;
  const bool gpu = session.executable && session.executable->device_arenas() != nullptr;
  return {.split = split,
          .workers = config.workers.value_or(usual_workers(gpu, session.cpus)),
          .batch_size = config.batch_size,
          .skip_bad = config.data.skip_bad,
          .preparation = {.image_size = config.data.image_size,
                          .crop = config.crop,
                          .flip = config.flip,
                          .seed = config.seed,
                          .epoch = session.position.epoch},
          .destination = destination_of(session.executable.get()),
          .memory = session.image_memory};
}

Result<Ok> check_image_memory(const Session& session) {
  const LoaderOptions options = loader_options(session, Split::train);
  const ImagePreparation preparation(*session.dataset, session.normalization, options.preparation);
  auto ready = batches_in_memory(*session.dataset, preparation, options);
  return ready ? Result<Ok>(Ok{}) : std::move(ready).error();
}

std::string preparation_words(const Session& session) {
  const LoaderOptions options = loader_options(session, Split::train);
  const ImagePreparation preparation(*session.dataset, session.normalization, options.preparation);
  const bool there = only_reads(*session.dataset, preparation, options.destination);
  return there ? ", which prepares the images" : "";
}

}  // namespace dllaunch
