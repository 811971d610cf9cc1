#include "trainer/config/config_keys.hpp"

#include <iterator>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/config/checkpoint_keys.hpp"
#include "trainer/config/fine_tuning_keys.hpp"
#include "trainer/config/integrity_keys.hpp"
#include "trainer/config/optimizer_keys.hpp"
#include "trainer/config/pipeline_keys.hpp"
#include "trainer/config/split_keys.hpp"
#include "trainer/graph/layer_list.hpp"
#include "trainer/losses/loss.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

std::vector<Word> backend_words() {
  std::vector<Word> words{{"auto", "the fastest that supports this device and precision"}};
  for (const auto& entry : backends()) {
    words.push_back(
        {std::string(entry.name), entry.version() + " on " + std::string(entry.device)});
  }
  return words;
}

Json backend_abilities() {
  Json all = Json::array();
  for (const auto& entry : backends()) {
    Json precisions = Json::array();
    for (const Precision precision : entry.precisions) precisions.push_back(to_string(precision));
    all.push_back({{"name", entry.name},
                   {"device", entry.device},
                   {"precisions", std::move(precisions)},
                   {"gpu_memory", entry.gpu_memory}});
  }
  return all;
}

template <typename T>
std::optional<T> absent_when_null(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

Precision precision_named(const std::string& word) {
  for (const auto precision :
       {Precision::fp64, Precision::tf32, Precision::bf16, Precision::fp16}) {
    if (word == to_string(precision)) return precision;
  }
  return Precision::fp32;
}

ConvolutionAlgorithm convolution_named(const std::string& word) {
  if (word == "direct") return ConvolutionAlgorithm::direct;
  return word == "winograd" ? ConvolutionAlgorithm::winograd : ConvolutionAlgorithm::automatic;
}

std::vector<ConfigKey> dataset_keys() {
  return {
      {.path = "dataset.kind",
       .kind = ValueKind::word,
       .initial = "fashion-mnist",
       .words = words_of(datasets()),
       .description = "data set",
       .store = [](auto& c, auto& v) { c.dataset = v; }},
      {.path = "dataset.path",
       .nullable = true,
       .description = "folder of the files; null: the Debian package's folder; tokens: a folder, a "
                      "file, or a pattern of training shards",
       .store = [](auto& c,
                   auto& v) { c.data.path = v.is_null() ? "" : v.template get<std::string>(); }},
      {.path = "dataset.workers",
       .kind = ValueKind::integer,
       .nullable = true,
       .minimum = 0,
       .description = "threads per rank that prepare batches; 0: the training thread prepares "
                      "them; null: 2 if CPUs compute; if a GPU does, one less than the CPUs that "
                      "the rank is bound to, 2 to 16",
       .store = [](auto& c, auto& v) { c.workers = absent_when_null<int>(v); }},
      {.path = "dataset.stage_to",
       .nullable = true,
       .description = "folder on the node's own storage: one rank of each node copies `path` "
                      "there, and all its ranks read the copy",
       .store = [](auto& c,
                   auto& v) { c.stage_to = v.is_null() ? "" : v.template get<std::string>(); }},
      {.path = "dataset.stage_failure",
       .kind = ValueKind::word,
       .initial = "stop",
       .words = {{"stop", "training does not start"},
                 {"in_place", "a warning is logged and the original files are read"}},
       .description = "what happens if the copy fails (no space, ...)",
       .store = [](auto& c, auto& v) { c.stage_or_stop = v == "stop"; }},
      {.path = "dataset.on_bad",
       .kind = ValueKind::word,
       .initial = "stop",
       .words = {{"stop", "training stops and names the file"},
                 {"skip",
                  "a training image is replaced by the next good one, a validation image is left "
                  "out; both are counted and reported"}},
       .description = "handling of images that are damaged, differ in size from the others, or "
                      "have a label out of range",
       .store = [](auto& c, auto& v) { c.data.skip_bad = v == "skip"; }},
  };
}

/// Keys about the images of a data set and their preparation.
std::vector<ConfigKey> image_keys() {
  return {
      {.path = "dataset.images",
       .kind = ValueKind::integer,
       .nullable = true,
       .wide = true,
       .minimum = 1,
       .description = "synthetic: training images or sequences [1024], plus a tenth as many for "
                      "validation",
       .store = [](auto& c, auto& v) { c.data.images = absent_when_null<std::int64_t>(v); }},
      {.path = "dataset.classes",
       .kind = ValueKind::integer,
       .nullable = true,
       .minimum = 1,
       .description = "synthetic: classes [10]; npy: classes [the largest training label + 1]; of "
                      "tokens: ids in the vocabulary [50257, GPT-2's]",
       .store = [](auto& c, auto& v) { c.data.classes = absent_when_null<int>(v); }},
      {.path = "dataset.sequence",
       .kind = ValueKind::integer,
       .nullable = true,
       .minimum = 1,
       .description = "tokens of a sample: tokens [1024]; synthetic: null makes images",
       .store = [](auto& c, auto& v) { c.data.sequence = absent_when_null<int>(v); }},
      {.path = "dataset.layout",
       .kind = ValueKind::word,
       .initial = "nhwc",
       .words = {{"nhwc", "images, height, width, channels"},
                 {"nchw", "images, channels, height, width"}},
       .description = "npy: order of the axes of the images",
       .store = [](auto& c, auto& v) { c.data.layout = v; }},
      {.path = "dataset.channels",
       .kind = ValueKind::integer,
       .nullable = true,
       .minimum = 1,
       .description = "channels of an image: synthetic [1]; image-folder 3 (RGB) or 1 (grey) [3]",
       .store = [](auto& c, auto& v) { c.data.channels = absent_when_null<int>(v); }},
      {.path = "dataset.image_size",
       .kind = ValueKind::integer,
       .nullable = true,
       .minimum = 1,
       .description = "network input size: height and width in pixels; other images are resized "
                      "(bilinear); null: the images' own size, synthetic [28]",
       .store = [](auto& c, auto& v) { c.data.image_size = absent_when_null<int>(v); }},
      {.path = "dataset.crop",
       .kind = ValueKind::integer,
       .initial = 0,
       .minimum = 0,
       .description = "training images are shifted at random by up to this many pixels in each "
                      "direction; padding is black",
       .store = [](auto& c, auto& v) { c.crop = v; }},
      {.path = "dataset.flip",
       .kind = ValueKind::flag,
       .initial = false,
       .description = "training images are mirrored left to right at random, with probability 1/2",
       .store = [](auto& c, auto& v) { c.flip = v; }},
  };
}

std::vector<ConfigKey> length_keys() {
  return {
      {.path = "batch_size",
       .kind = ValueKind::integer,
       .initial = 32,
       .minimum = 1,
       .words = {{"auto",
                  "the largest power of two that fits into memory, found by trials at the start"}},
       .description = "images per rank in one forward and backward pass",
       .store =
           [](auto& c, auto& v) {
             c.find.batch_size = v.is_string();
             c.batch_size = v.is_number() ? v.template get<int>() : 1;
           }},
      {.path = "epochs",
       .kind = ValueKind::integer,
       .initial = 1,
       .wide = true,
       .minimum = 1,
       .description = "passes over the training images",
       .store = [](auto& c, auto& v) { c.epochs = v; }},
      {.path = "max_steps",
       .kind = ValueKind::integer,
       .nullable = true,
       .wide = true,
       .minimum = 1,
       .description = "stop after this many optimiser steps, even within an epoch",
       .store = [](auto& c, auto& v) { c.max_steps = absent_when_null<std::int64_t>(v); }},
      {.path = "accumulate",
       .kind = ValueKind::integer,
       .initial = 1,
       .minimum = 1,
       .description = "batches whose gradients are accumulated for each optimiser step",
       .store = [](auto& c, auto& v) { c.accumulate = v; }},
      {.path = "global_batch",
       .kind = ValueKind::integer,
       .nullable = true,
       .wide = true,
       .minimum = 1,
       .description = "images per optimiser step, over all ranks, whatever their number; null: "
                      "batch_size x accumulate x ranks",
       .store = [](auto& c,
                   auto& v) { c.global_batch = absent_when_null<std::int64_t>(v).value_or(0); }},
  };
}

std::vector<ConfigKey> compute_keys() {
  return {
      {.path = "precision",
       .kind = ValueKind::word,
       .initial = "fp32",
       .words = {{"fp32", "single"},
                 {"tf32", "single; products use 10 bits of mantissa; on GPUs only"},
                 {"bf16",
                  "activations and products in bfloat16; weights, sums and the loss in single"},
                 {"fp16",
                  "like bf16 but in half precision, with dynamic loss scaling; on GPUs only"},
                 {"fp64", "double, on backend reference only"}},
       .description = "floating-point format of the arithmetic",
       .store = [](auto& c, auto& v) { c.precision = precision_named(v); }},
      {.path = "convolution",
       .kind = ValueKind::word,
       .initial = "auto",
       .words = {{"auto", "Winograd if expected to be faster for the shape"},
                 {"direct", "direct sums of products"},
                 {"winograd",
                  "Winograd wherever the backend supports it: fewer multiplications, larger "
                  "rounding errors"}},
       .description = "how convolutions are computed",
       .store = [](auto& c, auto& v) { c.convolution = convolution_named(v); }},
      {.path = "backend",
       .kind = ValueKind::word,
       .initial = "auto",
       .words = backend_words(),
       .description = "compute library",
       .about_words = {{"x-backends", backend_abilities()}},
       .store = [](auto& c, auto& v) { c.backend = v; }},
      {.path = "loss",
       .kind = ValueKind::word,
       .initial = "auto",
       .words =
           words_of(losses(), {{"auto", "the model's own, else the one for the kind of labels"}}),
       .description = "loss function to minimise",
       .store = [](auto& c, auto& v) { c.loss = v; }},
      {.path = "zero_gamma",
       .kind = ValueKind::flag,
       .initial = false,
       .description = "the last batch normalisation of each residual block starts with weight 0, "
                      "so that the block initially equals its shortcut (Goyal et al. 2017)",
       .store = [](auto& c, auto& v) { c.zero_gamma = v; }},
      {.path = "sync_batch_norm",
       .kind = ValueKind::flag,
       .initial = false,
       .description = "batch normalisation computes mean and variance over the images of all ranks",
       .store = [](auto& c, auto& v) { c.sync_batch_norm = v; }},
      {.path = "label_smoothing",
       .kind = ValueKind::number,
       .initial = 0,
       .minimum = 0,
       .below = 1,
       .description = "share of the label that is spread over all classes, e.g. 0.1 (not for "
                      "mean_squared_error)",
       .store = [](auto& c, auto& v) { c.label_smoothing = v; }},
  };
}

std::vector<ConfigKey> state_keys() {
  return {
      {.path = "seed",
       .kind = ValueKind::integer,
       .initial = 1,
       .wide = true,
       .minimum = 0,
       .description = "seed of initial weights, image order and synthetic data",
       .store = [](auto& c, auto& v) { c.seed = v; }},
      {.path = "validate_every",
       .kind = ValueKind::integer,
       .initial = 1,
       .wide = true,
       .minimum = 0,
       .description = "epochs from one validation to the next; 0: never",
       .store = [](auto& c, auto& v) { c.validate_every = v; }},
      {.path = "resume",
       .kind = ValueKind::text,
       .initial = "auto",
       .description = "auto: from this run's newest valid checkpoint, if any; none: from the "
                      "start; a path: from a checkpoint of another run",
       .store = [](auto& c, auto& v) { c.resume = v; }},
  };
}

std::vector<ConfigKey> reports_keys() {
  return {
      {.path = "reports.tensorboard",
       .kind = ValueKind::flag,
       .initial = true,
       .description = "TensorBoard event files in tensorboard/",
       .store = [](auto& c, auto& v) { c.reports.tensorboard = v; }},
      {.path = "reports.histograms_every",
       .kind = ValueKind::integer,
       .initial = 0,
       .wide = true,
       .minimum = 0,
       .description =
           "epochs between TensorBoard histograms of all weights and gradients; 0: never",
       .store = [](auto& c, auto& v) { c.reports.histograms_every = v; }},
      {.path = "reports.csv",
       .kind = ValueKind::flag,
       .initial = true,
       .description = "metrics.csv with a row per epoch, ranks.csv with a row per epoch and rank; "
                      "confusion.csv and classes.csv of the latest validation",
       .store = [](auto& c, auto& v) { c.reports.csv = v; }},
  };
}

/// Keys of train.json that the launcher adds.
std::vector<ConfigKey> launcher_keys() {
  return {
      {.path = "name",
       .initial = "dltrain",
       .launcher = true,
       .description = "name of the run",
       .store = [](auto& c, auto& v) { c.name = v; }},
      {.path = "device",
       .kind = ValueKind::word,
       .initial = "auto",
       .launcher = true,
       .words = {{"auto", ""}, {"cpu", ""}, {"cuda", ""}, {"hip", ""}},
       .description = "compute device",
       .store = [](auto& c, auto& v) { c.device = v; }},
      {.path = "stop_signal",
       .kind = ValueKind::word,
       .initial = "USR2",
       .launcher = true,
       .words = {{"USR1", "the timeline cannot be switched then"},
                 {"USR2", ""},
                 {"TERM", ""},
                 {"INT", ""},
                 {"HUP", ""}},
       .description = "signal that requests a checkpoint and a stop, besides TERM and INT",
       .store = [](auto& c, auto& v) { c.stop_signal = v; }},
  };
}

/// Keys of the job file's `runtime:` block, passed on by the launcher.
std::vector<ConfigKey> runtime_keys() {
  return {
      {.path = "runtime.allreduce",
       .kind = ValueKind::word,
       .initial = "auto",
       .launcher = true,
       .words = words_of(communicators(), {{"auto",
                                            "solo for one rank, nccl where GPUs compute "
                                            "and have it, else hierarchical"}}),
       .description = "communicator that reduces gradients",
       .store = [](auto& c, auto& v) { c.runtime.allreduce = v; }},
      {.path = "runtime.bucket_mb",
       .kind = ValueKind::number,
       .initial = "auto",
       .launcher = true,
       .above = 0,
       .words = {{"auto", "the fastest of some sizes, tried in the first steps and remembered"}},
       .description = "MiB of gradients per collective",
       .store =
           [](auto& c, auto& v) {
             c.runtime.bucket_mb = v.is_number() ? std::optional<double>(v) : std::nullopt;
           }},
      {.path = "runtime.overlap",
       .kind = ValueKind::flag,
       .initial = true,
       .launcher = true,
       .description = "reduce gradients while the backward pass still runs",
       .store = [](auto& c, auto& v) { c.runtime.overlap = v; }},
      {.path = "runtime.compression",
       .kind = ValueKind::word,
       .initial = "none",
       .launcher = true,
       .words = {{"none", "uncompressed"},
                 {"fp16", "fp16; rounding errors are fed back in the next step"},
                 {"bf16", "bf16; rounding errors are fed back in the next step"}},
       .description = "wire format of gradients",
       .store =
           [](auto& c, auto& v) {
             c.runtime.compression = v == "fp16"   ? Compression::fp16
                                     : v == "bf16" ? Compression::bf16
                                                   : Compression::none;
           }},
      {.path = "runtime.gradient_lag",
       .kind = ValueKind::integer,
       .initial = 0,
       .launcher = true,
       .minimum = 0,
       .description = "steps by which an update uses older gradients, 0 or 1",
       .store = [](auto& c, auto& v) { c.runtime.gradient_lag = v; }},
      {.path = "runtime.stall_seconds",
       .kind = ValueKind::number,
       .initial = 60,
       .launcher = true,
       .above = 0,
       .description = "seconds after which a collective is late and the stragglers are named",
       .store = [](auto& c, auto& v) { c.runtime.stall_seconds = v; }},
      {.path = "runtime.stall_abort_seconds",
       .kind = ValueKind::number,
       .initial = 600,
       .launcher = true,
       .above = 0,
       .description = "seconds after which a late collective ends the job; more than stall_seconds",
       .store = [](auto& c, auto& v) { c.runtime.stall_abort_seconds = v; }},
      {.path = "runtime.timeline",
       .kind = ValueKind::flag,
       .initial = false,
       .launcher = true,
       .description = "record a timeline of every rank",
       .store = [](auto& c, auto& v) { c.runtime.timeline = v; }},
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> keys{{.path = "model",
                               .kind = ValueKind::network,
                               .required = true,
                               .words = words_of(models()),
                               .description = "network to train",
                               .store = [](auto& c, auto& v) {
                                 const bool listed = v.is_object();
                                 c.model = listed ? std::string(listed_model)
                                                  : v.template get<std::string>();
                                 if (listed) c.layers = v.dump();
                               }}};
  for (auto part :
       {dataset_keys, image_keys, length_keys, compute_keys, optimizer_keys, average_keys,
        schedule_keys, state_keys, fine_tuning_keys, checkpoint_keys, reports_keys, launcher_keys,
        runtime_keys, pipeline_keys, split_keys, integrity_keys}) {
    auto rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = all_keys();
  return keys;
}

std::string block_description(const std::string& block) {
  if (block == "dataset") return "the images and their preparation, or the tokens";
  if (block == "optimizer") return "how weights are updated";
  if (block == "ema") return "an exponential moving average of the weights";
  if (block == "lr_schedule") return "the learning rate over the steps";
  if (block == "checkpoint") return "when checkpoints are written";
  if (block == "reports") return "report files written beside events.jsonl";
  return "";
}

}  // namespace dllaunch
