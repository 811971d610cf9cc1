// The table of optimisers. To add one, include its file and list it here.
#pragma once

#include "support/type_list.hpp"
#include "trainer/optimizers/adadelta.hpp"
#include "trainer/optimizers/adagrad.hpp"
#include "trainer/optimizers/adam.hpp"
#include "trainer/optimizers/adamw.hpp"
#include "trainer/optimizers/lamb.hpp"
#include "trainer/optimizers/lars.hpp"
#include "trainer/optimizers/rmsprop.hpp"
#include "trainer/optimizers/rmsprop_warmup.hpp"
#include "trainer/optimizers/sgd.hpp"

namespace dllaunch {

using Optimizers =
    TypeList<Sgd, Adam, AdamW, Rmsprop, Adagrad, Adadelta, Lars, Lamb, RmspropWarmup>;

}  // namespace dllaunch
