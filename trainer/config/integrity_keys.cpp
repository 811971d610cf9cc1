#include "trainer/config/integrity_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> integrity_keys() {
  return {
      {.path = "runtime.integrity.every_steps",
       .kind = ValueKind::integer,
       .nullable = true,
       .launcher = true,
       .wide = true,
       .minimum = 0,
       .description = "steps between comparisons of what the ranks hold, which find a rank that "
                      "computes or stores wrong numbers; each checkpoint is preceded by one; 0: "
                      "never; null: 50, never with weights on GPUs",
       .store =
           [](auto& c, auto& v) {
             if (!v.is_null()) c.runtime.integrity.every_steps = v.template get<std::int64_t>();
           }},
  };
}

}  // namespace dllaunch
