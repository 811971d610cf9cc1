// Rules of the job file's keys, as JSON Schema.
#pragma once

#include <initializer_list>

#include "support/json.hpp"

namespace dllaunch {

Json choices(std::initializer_list<const char*> all);
Json whole(int minimum, int maximum);
Json automatic_or(Json rules);
Json flag();
Json block();

/// Text for one line of a script, or one argument.
Json line();
Json optional_line();
/// A time limit, in a short form or Slurm's; null: none.
Json slurm_duration();

Json lines(Json items, const char* expected);

/// An argument; numbers and booleans are taken as written.
Json argument();

}  // namespace dllaunch
