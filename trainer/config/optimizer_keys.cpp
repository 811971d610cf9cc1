#include "trainer/config/optimizer_keys.hpp"

#include <algorithm>
#include <iterator>

namespace dllaunch {
namespace {

/// An option of optimisers: its key and its storage.
struct OptionRow {
  ConfigKey key;
  std::function<Json(const OptimizerOptions&)> get;
};

template <typename Value>
OptionRow option(const std::string& name, ValueKind kind, Value OptimizerOptions::*field,
                 const std::string& description) {
  return {.key = {.path = "optimizer." + name,
                  .kind = kind,
                  .nullable = true,
                  .description = description,
                  .store =
                      [field](TrainConfig& c, const Json& v) {
                        if (!v.is_null()) c.optimizer_options.*field = v.get<Value>();
                      }},
          .get = [field](const OptimizerOptions& options) { return Json(options.*field); }};
}

OptionRow number(const std::string& name, double OptimizerOptions::*field,
                 const std::string& description) {
  return option(name, ValueKind::number, field, description);
}

OptionRow at_least_zero(OptionRow row) {
  row.key.minimum = 0;
  return row;
}

OptionRow above_zero(OptionRow row) {
  row.key.above = 0;
  return row;
}

OptionRow below_one(OptionRow row) {
  row.key.minimum = 0;
  row.key.below = 1;
  return row;
}

OptionRow betas() {
  OptionRow row =
      below_one(option("betas", ValueKind::numbers, &OptimizerOptions::betas,
                       "decay rates of the running means of gradients and of their squares"));
  row.key.count = 2;
  return row;
}

OptionRow learning_rate_option() {
  OptionRow row =
      above_zero(number("lr", &OptimizerOptions::lr, "learning rate, before lr_schedule"));
  row.key.words = {{"auto", "found by a learning rate range test at the start"}};
  row.key.store = [](TrainConfig& c, const Json& v) {
    c.find.lr = v.is_string();
    if (v.is_number()) c.optimizer_options.lr = v.get<double>();
  };
  return row;
}

std::vector<OptionRow> option_rows() {
  using Options = OptimizerOptions;
  const auto flag = [](const std::string& name, bool Options::*field,
                       const std::string& description) {
    return option(name, ValueKind::flag, field, description);
  };
  return {
      learning_rate_option(),
      at_least_zero(
          number("momentum", &Options::momentum, "share of the previous update that is kept")),
      flag("nesterov", &Options::nesterov, "Nesterov momentum"),
      at_least_zero(number("weight_decay", &Options::weight_decay,
                           "times the weight, added to its gradient; adamw shrinks the weight "
                           "itself; lars and lamb exclude biases and batch normalisation")),
      betas(),
      above_zero(number("eps", &Options::eps, "added to the denominator")),
      below_one(number("alpha", &Options::alpha, "decay rate of the running mean of squares")),
      flag("centered", &Options::centered, "divide by the standard deviation of the gradient"),
      below_one(number("rho", &Options::rho, "decay rate of both running means of squares")),
      at_least_zero(number("lr_decay", &Options::lr_decay,
                           "the t-th step divides the rate by 1 + (t - 1) * lr_decay")),
      above_zero(number("trust_coefficient", &Options::trust_coefficient,
                        "ratio of a layer's step to its weights, before lr")),
      flag("lr_in_momentum", &Options::lr_in_momentum,
           "true: the rate is part of the momentum, as in the paper; false: it is applied "
           "afterwards"),
      flag("momentum_correction", &Options::momentum_correction,
           "rescale the momentum when the rate changes (Horovod); sgd applies the rate after the "
           "momentum and needs none"),
      above_zero(number("rmsprop_lr", &Options::rmsprop_lr, "rate of RMSProp at the start")),
      at_least_zero(number("center_epoch", &Options::center_epoch,
                           "epoch at which the update is half RMSProp, half SGD")),
      above_zero(number("period_epochs", &Options::period_epochs,
                        "length of the transition from RMSProp to SGD")),
  };
}

std::string name_of(const ConfigKey& key) {
  return key.path.substr(key.path.rfind('.') + 1);
}

/// Returns " (sgd, rmsprop: 0.01; adam: 0.001; step: required)": the words with the key and its
/// default.
std::string who_has_it(const KeyChoice& choice) {
  std::vector<std::pair<std::string, std::string>> groups;  // value -> names
  for (const auto& [word, initial] : choice.initial.items()) {
    const bool needed = std::ranges::find(choice.needed, word) != choice.needed.end();
    const std::string value = needed ? "required" : initial.is_null() ? "" : initial.dump();
    const auto same = std::ranges::find(groups, value, [](const auto& g) { return g.first; });
    if (same == groups.end()) {
      groups.emplace_back(value, word);
    } else {
      same->second += ", " + word;
    }
  }
  std::string text;
  for (const auto& [value, names] : groups) {
    text += (text.empty() ? " (" : "; ") + names + (value.empty() ? "" : ": " + value);
  }
  return text + ")";
}

ConfigKey offered(ConfigKey key, KeyChoice choice, const std::string& usual) {
  key.initial = choice.initial.value(usual, Json());
  key.description += who_has_it(choice);
  key.choice = std::move(choice);
  return key;
}

ConfigKey of_optimizers(OptionRow row) {
  KeyChoice choice{.by = "name", .initial = Json::object()};
  for (const auto& entry : optimizers()) {
    if (std::ranges::find(entry.options, name_of(row.key)) == entry.options.end()) continue;
    choice.initial[std::string(entry.name)] = row.get(entry.defaults);
  }
  return offered(std::move(row.key), std::move(choice), "sgd");
}

ConfigKey of_decays(ConfigKey key) {
  KeyChoice choice{.by = "decay", .initial = Json::object()};
  for (const auto& entry : lr_decays()) {
    const auto found = std::ranges::find(entry.options, name_of(key), &DecayOption::name);
    if (found == entry.options.end()) continue;
    const std::string word(entry.name);
    choice.initial[word] = found->initial ? Json(*found->initial) : Json();
    if (found->needed) choice.needed.push_back(word);
  }
  return offered(std::move(key), std::move(choice), "none");
}

template <typename Field>
auto keep(Field ScheduleOptions::*field) {
  return [field](TrainConfig& c, const Json& v) {
    if (v.is_null()) return;
    if constexpr (std::is_same_v<Field, std::optional<double>>) {
      c.schedule.*field = v.get<double>();
    } else {
      c.schedule.*field = v.get<Field>();
    }
  };
}

std::vector<ConfigKey> decay_keys() {
  using Options = ScheduleOptions;
  return {
      {.path = "lr_schedule.gamma",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "factor for the rate",
       .store = keep(&Options::gamma)},
      {.path = "lr_schedule.step_epochs",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "epochs from one drop to the next",
       .store = keep(&Options::step_epochs)},
      {.path = "lr_schedule.milestones",
       .kind = ValueKind::numbers,
       .nullable = true,
       .minimum = 0,
       .description = "epochs at which the rate changes, in ascending order, e.g. [30, 60, 80]",
       .store = keep(&Options::milestones)},
      {.path = "lr_schedule.factors",
       .kind = ValueKind::numbers,
       .nullable = true,
       .minimum = 0,
       .description = "factors of the full rate from each milestone on, instead of powers of gamma",
       .store = keep(&Options::factors)},
      {.path = "lr_schedule.power",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "1: linear; 2: slower towards the end",
       .store = keep(&Options::power)},
      {.path = "lr_schedule.end_lr",
       .kind = ValueKind::number,
       .nullable = true,
       .minimum = 0,
       .description = "rate at the end, not scaled",
       .store = keep(&Options::end_lr)},
      {.path = "lr_schedule.decay_epochs",
       .kind = ValueKind::number,
       .nullable = true,
       .above = 0,
       .description = "epochs from the end of the warm-up to end_lr; null: all remaining",
       .store = keep(&Options::decay_epochs)},
      {.path = "lr_schedule.decay_rate",
       .kind = ValueKind::number,
       .nullable = true,
       .minimum = 0,
       .description = "decay per step after the warm-up, like Keras's `decay`",
       .store = keep(&Options::decay_rate)},
  };
}

}  // namespace

Json option_value(const OptimizerOptions& options, std::string_view name) {
  for (const OptionRow& row : option_rows()) {
    if (name_of(row.key) == name) return row.get(options);
  }
  return nullptr;
}

std::vector<ConfigKey> optimizer_keys() {
  std::vector<ConfigKey> keys{{.path = "optimizer.name",
                               .kind = ValueKind::word,
                               .initial = "sgd",
                               .words = words_of(optimizers()),
                               .description = "update rule",
                               .store = [](auto& c, auto& v) { c.optimizer = v; }}};
  std::ranges::transform(option_rows(), std::back_inserter(keys), of_optimizers);
  keys.push_back({.path = "optimizer.clip_norm",
                  .kind = ValueKind::number,
                  .nullable = true,
                  .above = 0,
                  .description = "the gradients of all weights together are scaled down to this "
                                 "norm if theirs is larger, as PyTorch's clip_grad_norm_",
                  .store = [](auto& c, auto& v) {
                    if (!v.is_null()) c.clip_norm = v.template get<double>();
                  }});
  keys.push_back({.path = "optimizer.decay_vectors",
                  .kind = ValueKind::flag,
                  .initial = true,
                  .description =
                      "false: weight decay only for weights of two or more dimensions, not for "
                      "biases and normalisations, as GPT-2 is trained",
                  .store = [](auto& c, auto& v) { c.decay_vectors = v; }});
  keys.push_back({.path = "optimizer.shard",
                  .kind = ValueKind::flag,
                  .initial = false,
                  .description =
                      "each rank keeps optimiser state only for its share of the weights, updates "
                      "that share and receives the rest from the others (ZeRO-1)",
                  .store = [](auto& c, auto& v) { c.shard = v; }});
  return keys;
}

std::vector<ConfigKey> average_keys() {
  return {
      {.path = "ema.decay",
       .kind = ValueKind::number,
       .nullable = true,
       .minimum = 0,
       .below = 1,
       .description = "keep an exponential moving average of the weights, e.g. 0.999: after each "
                      "step it is decay times itself plus (1 - decay) times the weights; every "
                      "checkpoint has it",
       .store =
           [](auto& c, auto& v) {
             if (!v.is_null()) c.average.decay = v.template get<double>();
           }},
      {.path = "ema.validate",
       .kind = ValueKind::flag,
       .initial = false,
       .description = "validate the average in place of the weights",
       .store = [](auto& c, auto& v) { c.average.validate = v; }},
  };
}

std::vector<ConfigKey> schedule_keys() {
  std::vector<ConfigKey> keys{
      {.path = "lr_schedule.scaling",
       .kind = ValueKind::word,
       .initial = "none",
       .words = words_of(lr_scalings()),
       .description = "scaling of the learning rate with the number of ranks",
       .store = [](auto& c, auto& v) { c.schedule.scaling = v; }},
      {.path = "lr_schedule.warmup_epochs",
       .kind = ValueKind::number,
       .initial = 0,
       .minimum = 0,
       .description = "epochs over which the rate rises from lr to the scaled rate, step by step",
       .store = [](auto& c, auto& v) { c.schedule.warmup_epochs = v; }},
      {.path = "lr_schedule.warmup_lr",
       .kind = ValueKind::number,
       .nullable = true,
       .minimum = 0,
       .description = "rate of the first step of the warm-up, instead of lr",
       .store = keep(&ScheduleOptions::warmup_lr)},
      {.path = "lr_schedule.decay",
       .kind = ValueKind::word,
       .initial = "none",
       .words = words_of(lr_decays()),
       .description = "schedule of the rate after the warm-up",
       .store = [](auto& c, auto& v) { c.schedule.decay = v; }}};
  std::ranges::transform(decay_keys(), std::back_inserter(keys), of_decays);
  return keys;
}

}  // namespace dllaunch
