#include "trainer/reports/epoch_line.hpp"

#include <string_view>

#include <fmt/core.h>

#include "support/counted.hpp"
#include "trainer/data/skipped_images.hpp"

namespace dllaunch {
namespace {

std::string named(std::string_view name, const std::optional<double>& value) {
  return value ? fmt::format(", {} {}", name, four_decimals(*value)) : "";
}

}  // namespace

std::string epoch_line(const EpochEvent& event, std::int64_t epochs) {
  std::string line =
      fmt::format("epoch {}/{}: loss {}", event.epoch, epochs, four_decimals(event.loss));
  line += named("perplexity", event.perplexity);
  line += named("accuracy", event.accuracy);
  line += named("validation loss", event.val_loss);
  line += named("perplexity", event.val_perplexity);
  line += named("accuracy", event.val_accuracy);
  line += named("F1 micro", event.val_f1_micro);
  line += named("mean absolute error", event.val_mean_absolute_error);
  line += fmt::format(", {:.1f} s, {:.0f} {}/s{}", event.seconds,
                      event.tokens_per_s.value_or(event.images_per_s),
                      event.tokens_per_s ? "tokens" : "images", render_skipped(event.skipped));
  if (event.skipped_steps > 0) {
    line += fmt::format(", {} step{} skipped (loss scale {:g})", event.skipped_steps,
                        event.skipped_steps == 1 ? "" : "s", event.loss_scale.value_or(0));
  }
  return line;
}

}  // namespace dllaunch
