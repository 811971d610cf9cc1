// What `dltrain` is asked to do: the `train:` block of a job file, resolved, as a value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/gradients/gradient_compression.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/optimizers/optimizer.hpp"
#include "trainer/optimizers/schedule.hpp"

namespace dllaunch {

/// What is found by trying, before the training.
struct AutoConfig {
  bool batch_size = false;
  bool lr = false;
};

struct CheckpointConfig {
  std::optional<std::int64_t> every_epochs = 1;
  std::optional<double> every_minutes = {};
  bool every_auto = false;                // minutes as best_interval_s() says
  std::optional<double> mtbf_hours = {};  // for that; absent: a node's share
  int keep = 3;                           // newest ones
  std::string best = {};                  // a metric whose best one is kept too; empty: none
  std::optional<double> mb_per_s = {};    // 1e6 bytes, while training goes on
  std::optional<double> wait_seconds = 10;
  bool stop_on_error = true;
};

struct RuntimeConfig {
  std::string allreduce = "auto";
  std::optional<double> bucket_mb;  // MiB; absent: the trainer's choice
  bool overlap = true;
  Compression compression = Compression::none;
  int gradient_lag = 0;              // steps, 0 or 1
  double stall_seconds = 60;         // a collective is late after so long
  double stall_abort_seconds = 600;  // and the job ends after so long
  bool timeline = false;             // from the first step on
};

/// Names as name_patterns.hpp reads them.
struct FineTuningConfig {
  std::string init_from = {};  // a safetensors file; empty: weights from the seed
  std::vector<std::string> init_skip = {};
  std::vector<std::string> freeze = {};
};

/// A key and its value: "optimizer.lr", 0.01.
struct Setting {
  std::string name;
  std::variant<bool, double, std::string> value;
};

/// What rank 0 writes beside events.jsonl.
struct ReportsConfig {
  bool csv = true;                    // metrics.csv, confusion.csv, classes.csv
  bool tensorboard = true;            // tensorboard/
  std::int64_t histograms_every = 0;  // epochs; 0: never
};

struct TrainConfig {
  std::string name = "dltrain";
  std::string device = "auto";  // auto | cpu | cuda | hip
  std::string model;            // a name of models(), or listed_model
  std::string layers;           // of that: the block `model:`, as JSON
  bool zero_gamma = false;
  bool sync_batch_norm = false;
  std::string dataset;  // a name of datasets()
  DatasetOptions data;
  std::string stage_to;       // folder of the node the files are copied to; empty: none
  bool stage_or_stop = true;  // else a copy that fails is read where it comes from
  int crop = 0;               // pixels by which training images are moved at most
  bool flip = false;          // every second training image, left to right
  int workers = 2;            // threads that prepare batches; 0: the training thread itself
  int batch_size = 1;         // images per rank and micro-batch
  AutoConfig find;
  std::int64_t epochs = 1;
  std::optional<std::int64_t> max_steps;
  int accumulate = 1;  // micro-batches per step
  Precision precision = Precision::fp32;
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::automatic;
  std::string backend = "auto";  // auto | a name of backends()
  std::string loss = "auto";     // auto | a name of losses()
  double label_smoothing = 0;
  std::string optimizer;  // a name of optimizers()
  OptimizerOptions optimizer_options;
  bool shard = false;  // each rank keeps the optimiser's state of its part of the weights only
  ScheduleOptions schedule;
  std::uint64_t seed = 1;
  std::int64_t validate_every = 1;  // epochs; 0: never
  std::string resume = "auto";      // auto | none | a path
  FineTuningConfig fine_tuning;
  CheckpointConfig checkpoint;
  ReportsConfig reports;
  RuntimeConfig runtime;
  std::string stop_signal = "USR2";  // besides TERM and INT
  std::vector<Setting> settings;     // all of the above that is not null, for people
};

/// Pure. Absent keys take their defaults. bad_request: one line of `what` per problem, all of them;
/// an unknown key comes with the nearest valid one.
Result<TrainConfig> parse_config(std::string_view json);

/// bad_request: no such file, or parse_config's problems, each beginning with the file's name.
Result<TrainConfig> read_config(const std::filesystem::path& file);

/// The `train:` block as a JSON Schema (2020-12), from the same table parse_config reads.
std::string describe_config();

}  // namespace dllaunch
