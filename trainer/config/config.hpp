// The configuration of dltrain: train.json parsed and validated, and the schema of its keys.
// Knows nothing about running it: no files but train.json are read, no devices are opened.
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

/// Settings given as `auto`, found by trials before training.
struct AutoConfig {
  bool batch_size = false;
  bool lr = false;
};

struct CheckpointConfig {
  std::optional<std::int64_t> every_epochs = 1;
  std::optional<double> every_minutes = {};
  bool every_auto = false;                // minutes from best_interval_s()
  std::optional<double> mtbf_hours = {};  // for every_auto; absent: node_mtbf_hours
  int keep = 3;                           // the newest ones
  std::string best = {};                  // metric whose best checkpoint is also kept; empty: none
  std::optional<double> mb_per_s = {};    // 1e6 bytes, while training runs
  std::optional<double> wait_seconds = 10;
  bool stop_on_error = true;
};

/// The network cut into stages, each on ranks of its own.
struct PipelineConfig {
  int stages = 1;                     // 1: not cut
  std::vector<std::string> cut = {};  // last node of each stage but the last; empty: measured
};

/// Comparisons of what the ranks hold.
struct IntegrityConfig {
  std::optional<std::int64_t> every_steps = {};  // 0: never; absent: guard.hpp decides
};

struct RuntimeConfig {
  std::string allreduce = "auto";
  std::optional<double> bucket_mb;  // MiB; absent: `auto`, or the default
  bool overlap = true;
  Compression compression = Compression::none;
  int gradient_lag = 0;              // steps, 0 or 1
  double stall_seconds = 60;         // until a collective counts as late
  double stall_abort_seconds = 600;  // until the job is aborted
  bool timeline = false;             // from the first step
  PipelineConfig pipeline = {};
  IntegrityConfig integrity = {};
  std::vector<std::string> split_dense = {};  // dense layers split by columns among the ranks
};

/// Patterns have the syntax of name_patterns.hpp.
struct FineTuningConfig {
  std::string init_from = {};  // safetensors file; empty: weights from the seed
  std::vector<std::string> init_skip = {};
  std::vector<std::string> freeze = {};
};

/// An exponential moving average of the weights.
struct AverageConfig {
  std::optional<double> decay;  // absent: none
  bool validate = false;        // with the average in place of the weights
};

/// A key and its value, such as "optimizer.lr" and 0.01.
struct Setting {
  std::string name;
  std::variant<bool, double, std::string> value;
};

/// Report files written by rank 0 besides events.jsonl.
struct ReportsConfig {
  bool csv = true;                    // metrics.csv, ranks.csv, confusion.csv, classes.csv
  bool tensorboard = true;            // tensorboard/
  std::int64_t histograms_every = 0;  // epochs; 0: never
};

struct TrainConfig {
  std::string name = "dltrain";
  std::string device = "auto";  // auto | cpu | cuda | hip
  std::string model;            // a name of models(), or listed_model
  std::string layers;           // if listed_model: the `model:` block as JSON
  bool zero_gamma = false;
  bool sync_batch_norm = false;
  std::string dataset;  // a name of datasets()
  DatasetOptions data;
  std::string stage_to;       // local folder to copy the files to; empty: none
  bool stage_or_stop = true;  // false: if the copy fails, read the original
  int crop = 0;               // random shift of training images, at most, pixels
  bool flip = false;          // mirror every second training image, at random
  // Threads that prepare batches; 0: the training thread; nullopt: usual_workers().
  std::optional<int> workers = {};
  int batch_size = 1;  // images per rank and micro-batch
  AutoConfig find;
  std::int64_t epochs = 1;
  std::optional<std::int64_t> max_steps;
  int accumulate = 1;             // micro-batches per step
  std::int64_t global_batch = 0;  // images per step over all ranks; 0: as many as they take
  Precision precision = Precision::fp32;
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::automatic;
  std::string backend = "auto";  // auto | a name of backends()
  std::string loss = "auto";     // auto | a name of losses()
  double label_smoothing = 0;
  std::string optimizer;  // a name of optimizers()
  OptimizerOptions optimizer_options;
  std::optional<double> clip_norm;  // of all gradients, at most; absent: unlimited
  bool decay_vectors = true;        // weight decay also for parameters of one dimension
  AverageConfig average;
  bool shard = false;  // each rank keeps optimiser state only for its share of the weights (ZeRO-1)
  ScheduleOptions schedule;
  std::uint64_t seed = 1;
  std::int64_t validate_every = 1;  // epochs; 0: never
  std::string resume = "auto";      // auto | none | a path
  FineTuningConfig fine_tuning;
  CheckpointConfig checkpoint;
  ReportsConfig reports;
  RuntimeConfig runtime;
  std::string stop_signal = "USR2";  // besides TERM and INT
  std::vector<Setting> settings;     // all of the above that is not null, for reports
};

/// Parses and validates `json`. Absent keys get their defaults. bad_request lists all problems, one
/// per line; unknown keys come with the nearest valid one.
Result<TrainConfig> parse_config(std::string_view json);

/// bad_request: the file is missing, or parse_config()'s problems, each prefixed with the file's
/// name.
Result<TrainConfig> read_config(const std::filesystem::path& file);

/// Returns the `train:` block as a JSON Schema (2020-12), from the same table that parse_config()
/// uses.
std::string describe_config();

}  // namespace dllaunch
