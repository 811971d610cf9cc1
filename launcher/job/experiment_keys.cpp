#include "launcher/job/experiment_keys.hpp"

#include "launcher/job/key_rules.hpp"

namespace dllaunch {

std::vector<JobKey> experiment_keys() {
  Json unit = line();
  unit.erase("pattern");
  unit["x-expected"] = "text such as samples/s";
  return {
      {.path = "study",
       .rules = block(),
       .doc = "how `dllaunch study` measures a run: (docs/how-to/study.md); of train: it knows "
              "images/s itself"},
      {.path = "study.value",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "extended regular expression for lines of rank 0's output: the text of its (group) "
              "is the number; the last match counts",
       .example = "([0-9.]+) samples/s"},
      {.path = "study.unit",
       .rules = unit,
       .initial = "",
       .doc = "the number's unit, for tables and plots",
       .example = "samples/s"},
      {.path = "study.better",
       .rules = choices({"higher", "lower"}),
       .initial = "higher",
       .doc = "higher: the number is a rate of all ranks together; lower: a time"},
      {.path = "reproducibility",
       .rules = block(),
       .doc = "what a run keeps of where it comes from (docs/how-to/compare.md)"},
      {.path = "reproducibility.diff",
       .rules = flag(),
       .initial = false,
       .doc = "keep what differs from the git revision, up to 1 MiB, as RUN/code.diff"},
  };
}

}  // namespace dllaunch
