#include "trainer/config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/scratch_folder.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(Config, AbsentKeysTakeTheDefaultsOfTheContract) {
  auto config = parse_config(R"({"model": "lenet"})");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->dataset, "fashion-mnist");
  EXPECT_EQ(config->data.path, "");
  EXPECT_EQ(config->workers, std::nullopt) << "usual_workers()";
  EXPECT_EQ(config->crop, 0);
  EXPECT_FALSE(config->flip);
  EXPECT_EQ(config->batch_size, 32);
  EXPECT_EQ(config->epochs, 1);
  EXPECT_FALSE(config->max_steps);
  EXPECT_EQ(config->accumulate, 1);
  EXPECT_EQ(config->precision, Precision::fp32);
  EXPECT_EQ(config->backend, "auto");
  EXPECT_EQ(config->optimizer, "sgd");
  EXPECT_EQ(config->optimizer_options.lr, 0.01);
  EXPECT_EQ(config->optimizer_options.momentum, 0);
  EXPECT_EQ(config->optimizer_options.weight_decay, 0);
  EXPECT_EQ(config->schedule.scaling, "none");
  EXPECT_EQ(config->schedule.warmup_epochs, 0);
  EXPECT_EQ(config->schedule.decay, "none");
  EXPECT_EQ(config->seed, 1u);
  EXPECT_EQ(config->validate_every, 1);
  EXPECT_EQ(config->resume, "auto");
  EXPECT_EQ(config->checkpoint.every_epochs, 1);
  EXPECT_FALSE(config->checkpoint.every_minutes);
  EXPECT_EQ(config->checkpoint.keep, 3);
  EXPECT_TRUE(config->reports.csv);
  EXPECT_TRUE(config->reports.tensorboard);
  EXPECT_EQ(config->reports.histograms_every, 0);
  EXPECT_EQ(config->device, "auto");
  EXPECT_EQ(config->runtime.allreduce, "auto");
  EXPECT_FALSE(config->runtime.bucket_mb);
  EXPECT_TRUE(config->runtime.overlap);
  EXPECT_EQ(config->runtime.stall_seconds, 60);
  EXPECT_EQ(config->runtime.stall_abort_seconds, 600);
  EXPECT_FALSE(config->runtime.timeline);
  EXPECT_EQ(config->stop_signal, "USR2");
}

TEST(Config, SettingsNameEveryKeyThatIsNotNull) {
  auto config = parse_config(R"({"model": "lenet", "optimizer": {"lr": 0.5}})");
  ASSERT_TRUE(config);
  const auto value_of = [&](const std::string& name) {
    for (const Setting& setting : config->settings) {
      if (setting.name == name) return setting.value;
    }
    return decltype(Setting::value)(std::string("absent"));
  };
  using Value = decltype(Setting::value);
  EXPECT_EQ(value_of("model"), Value(std::string("lenet")));
  EXPECT_EQ(value_of("optimizer.lr"), Value(0.5));
  EXPECT_EQ(value_of("optimizer.shard"), Value(false));
  EXPECT_EQ(value_of("batch_size"), Value(32.0));
  EXPECT_EQ(value_of("max_steps"), Value(std::string("absent")));
}

TEST(Config, ReadsEveryKey) {
  auto config = parse_config(R"({
    "name": "n", "device": "cpu", "model": "cnn",
    "dataset": {"kind": "synthetic", "path": null, "workers": 0, "images": 5000000000,
                "classes": 7, "channels": 3, "image_size": 16, "crop": 4,
                "flip": true},
    "batch_size": 64.0, "epochs": 9, "max_steps": 100, "accumulate": 2, "precision": "fp64",
    "backend": "reference", "loss": "sigmoid_cross_entropy", "label_smoothing": 0.1,
    "optimizer": {"name": "sgd", "lr": 1, "momentum": 0.9, "weight_decay": 1e-4},
    "lr_schedule": {"scaling": "linear", "warmup_epochs": 2.5, "decay": "none"},
    "seed": 42, "validate_every": 0, "resume": "/elsewhere",
    "checkpoint": {"every_epochs": null, "every_minutes": 0.5, "keep": 1},
    "reports": {"tensorboard": false, "histograms_every": 5, "csv": false},
    "runtime": {"allreduce": "mpi", "bucket_mb": 4.5, "overlap": false, "stall_seconds": 0.5,
                "stall_abort_seconds": 2, "timeline": true},
    "stop_signal": "HUP"})");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->name, "n");
  EXPECT_EQ(config->device, "cpu");
  EXPECT_EQ(config->model, "cnn");
  EXPECT_EQ(config->dataset, "synthetic");
  EXPECT_EQ(config->workers, 0);
  EXPECT_EQ(config->data.images, 5000000000);
  EXPECT_EQ(config->data.classes, 7);
  EXPECT_EQ(config->data.channels, 3);
  EXPECT_EQ(config->data.image_size, 16);
  EXPECT_EQ(config->crop, 4);
  EXPECT_TRUE(config->flip);
  EXPECT_EQ(config->data.seed, 42u);
  EXPECT_EQ(config->batch_size, 64);
  EXPECT_EQ(config->epochs, 9);
  EXPECT_EQ(config->max_steps, 100);
  EXPECT_EQ(config->accumulate, 2);
  EXPECT_EQ(config->precision, Precision::fp64);
  EXPECT_EQ(config->loss, "sigmoid_cross_entropy");
  EXPECT_EQ(config->label_smoothing, 0.1);
  EXPECT_EQ(config->optimizer_options.momentum, 0.9);
  EXPECT_EQ(config->optimizer_options.weight_decay, 1e-4);
  EXPECT_EQ(config->schedule.scaling, "linear");
  EXPECT_EQ(config->schedule.warmup_epochs, 2.5);
  EXPECT_EQ(config->validate_every, 0);
  EXPECT_EQ(config->resume, "/elsewhere");
  EXPECT_FALSE(config->checkpoint.every_epochs);
  EXPECT_FALSE(config->reports.csv);
  EXPECT_FALSE(config->reports.tensorboard);
  EXPECT_EQ(config->reports.histograms_every, 5);
  EXPECT_EQ(config->checkpoint.every_minutes, 0.5);
  EXPECT_EQ(config->checkpoint.keep, 1);
  EXPECT_EQ(config->runtime.allreduce, "mpi");
  EXPECT_EQ(config->runtime.bucket_mb, 4.5);
  EXPECT_FALSE(config->runtime.overlap);
  EXPECT_EQ(config->runtime.stall_seconds, 0.5);
  EXPECT_EQ(config->runtime.stall_abort_seconds, 2);
  EXPECT_TRUE(config->runtime.timeline);
  EXPECT_EQ(config->stop_signal, "HUP");
}

TEST(Config, OptionsOfADataSetAreForKindsThatTakeThem) {
  const auto problems = [](const std::string& dataset) {
    auto config = parse_config(R"({"model": "lenet", "dataset": )" + dataset + "}");
    return config ? "" : config.error().what;
  };
  EXPECT_EQ(problems(R"({"kind": "npy", "path": "/a", "classes": 3, "layout": "nchw"})"), "");
  EXPECT_EQ(problems(R"({"kind": "npy", "path": "/a", "image_size": 3, "layout": "nhwc"})"), "");
  EXPECT_EQ(problems(R"({"kind": "cifar10", "images": 3, "layout": "nchw"})"),
            "dataset.images: kind cifar10 does not take it\n"
            "dataset.layout: kind cifar10 does not take it");
  EXPECT_EQ(problems(R"({"kind": "fashion-mnist", "stage_to": "/tmp"})"),
            "dataset.stage_to: there is no dataset.path to copy from");
  EXPECT_EQ(problems(R"({"kind": "synthetic", "path": "/a"})"),
            "dataset.path: kind synthetic has no files");
}

TEST(Config, ReportsAllProblemsAtOnce) {
  auto config = parse_config(R"({
    "epocs": 3, "batch_size": 0, "optimizer": {"lr": 0, "nam": "sgd"}, "dataset": [],
    "model": "lenett", "seed": 1.5, "max_steps": 1e300, "epochs": "three",
    "runtime": {"bucket_mb": "big", "overlap": 1, "stall_seconds": 600}, "accumulate": 3000000000,
    "checkpoint": {"keep": null}})");
  ASSERT_FALSE(config);
  const std::string& what = config.error().what;
  EXPECT_THAT(what, HasSubstr("unknown key 'epocs'; did you mean 'epochs'?"));
  EXPECT_THAT(what, HasSubstr("batch_size must be at least 1, not 0"));
  EXPECT_THAT(what, HasSubstr("optimizer.lr must be greater than 0, not 0"));
  EXPECT_THAT(what, HasSubstr("unknown key 'optimizer.nam'; did you mean 'name'?"));
  EXPECT_THAT(what, HasSubstr("dataset must be a block of kind, path"));
  EXPECT_THAT(what, HasSubstr("model has no 'lenett'; did you mean 'lenet'?"));
  EXPECT_THAT(what, HasSubstr("seed must be an integer, not 1.5"));
  EXPECT_THAT(what, HasSubstr("max_steps must be an integer or null, not 1e+300"));
  EXPECT_THAT(what, HasSubstr("epochs must be an integer, not \"three\""));
  EXPECT_THAT(what, HasSubstr("runtime.bucket_mb must be a number or auto, not \"big\""));
  EXPECT_THAT(what, HasSubstr("runtime.overlap must be true or false, not 1"));
  EXPECT_THAT(what,
              HasSubstr("runtime.stall_abort_seconds must be greater than stall_seconds (600)"));
  EXPECT_THAT(what, HasSubstr("accumulate must be at most 2147483647"));
  EXPECT_THAT(what, HasSubstr("checkpoint.keep must be an integer, not null"));
  EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 13);
}

TEST(Config, ChecksCombinationsOfKeys) {
  auto sizes = parse_config(R"({"model": "lenet", "dataset": {"kind": "mnist", "images": 3}})");
  ASSERT_FALSE(sizes);
  EXPECT_THAT(sizes.error().what, HasSubstr("dataset.images: kind mnist does not take it"));
  auto files = parse_config(R"({"model": "lenet", "dataset": {"kind": "synthetic", "path": "x"}})");
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().what, "dataset.path: kind synthetic has no files");
}

TEST(Config, DoublePrecisionIsForTheReferenceOnly) {
  for (const auto& entry : backends()) {
    auto config = parse_config(R"({"model": "lenet", "precision": "fp64", "backend": ")" +
                               std::string(entry.name) + "\"}");
    EXPECT_EQ(static_cast<bool>(config), entry.name == "reference") << entry.name;
  }
}

TEST(Config, ReadsPrecisionAndConvolution) {
  for (const auto& [word, precision] :
       {std::pair("fp32", Precision::fp32), std::pair("tf32", Precision::tf32),
        std::pair("bf16", Precision::bf16), std::pair("fp16", Precision::fp16)}) {
    auto config = parse_config(R"({"model": "lenet", "precision": ")" + std::string(word) + "\"}");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->precision, precision);
    EXPECT_EQ(config->convolution, ConvolutionAlgorithm::automatic);
  }
  for (const auto& [word, how] : {std::pair("auto", ConvolutionAlgorithm::automatic),
                                  std::pair("direct", ConvolutionAlgorithm::direct),
                                  std::pair("winograd", ConvolutionAlgorithm::winograd)}) {
    auto config =
        parse_config(R"({"model": "lenet", "convolution": ")" + std::string(word) + "\"}");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->convolution, how);
  }
}

TEST(Config, ReadsCompressionAndSharding) {
  auto config = parse_config(R"({"model": "lenet", "optimizer": {"shard": true},
    "runtime": {"compression": "bf16", "gradient_lag": 1}})");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_TRUE(config->shard);
  EXPECT_EQ(config->runtime.compression, Compression::bf16);
  EXPECT_EQ(config->runtime.gradient_lag, 1);
  auto plain = parse_config(R"({"model": "lenet", "runtime": {"compression": "none"}})");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->shard);
  EXPECT_EQ(plain->runtime.compression, Compression::none);
  EXPECT_EQ(plain->runtime.gradient_lag, 0);
}

TEST(Config, RefusesALongerLagAndDoublesInHalves) {
  auto config = parse_config(R"({"model": "lenet", "precision": "fp64",
    "runtime": {"compression": "fp16", "gradient_lag": 2}})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().what,
            "runtime.gradient_lag must be 0 or 1, not 2\nruntime.compression: not supported with "
            "precision fp64");
}

TEST(Config, RejectsWhatALossScaleWouldBreak) {
  auto config = parse_config(R"({"model": "lenet", "precision": "fp16",
    "runtime": {"compression": "bf16", "gradient_lag": 1}})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().what,
            "runtime.compression: not supported with precision fp16, whose gradients are "
            "scaled\nruntime.gradient_lag: not supported with precision fp16, whose loss scale may "
            "change between steps");
}

TEST(Config, RejectsWhatIsNotAJsonObject) {
  EXPECT_THAT(parse_config("{").error().what, HasSubstr("not JSON: parse error at line 1"));
  EXPECT_EQ(parse_config("[]").error().what, "the document is not a JSON object");
  EXPECT_FALSE(parse_config(R"({"model": "lenet", "seed": 1e999})"));
}

TEST(Config, NamesTheFileInEveryLine) {
  const ScratchFolder folder;
  const std::string file = (folder / "train.json").string();
  EXPECT_EQ(read_config(file).error().what, "cannot read " + file + ": No such file or directory");
  write_text(file, R"({"x": 1})");
  const std::string what = read_config(file).error().what;
  EXPECT_THAT(what, HasSubstr(file + ": unknown key 'x'"));
  EXPECT_THAT(what, HasSubstr("\n" + file + ": model is missing: one of"));
}

}  // namespace
}  // namespace dllaunch
