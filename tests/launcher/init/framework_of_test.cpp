#include "launcher/init/framework_of.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(FrameworkOf, FollowsTheImports) {
  EXPECT_EQ(framework_of_program("import torch\nimport torch.distributed as dist\n"), "pytorch");
  EXPECT_EQ(framework_of_program("import lightning as L\n"), "pytorch");
  EXPECT_EQ(framework_of_program("import torch\nimport horovod.torch as hvd\n"), "horovod");
  EXPECT_EQ(framework_of_program("def f():\n    from tensorflow import keras\n"), "tensorflow");
  EXPECT_EQ(framework_of_program("import jax.numpy as jnp\r\n"), "jax");
  EXPECT_EQ(framework_of_program("import torch\nimport deepspeed\n"), "deepspeed");
  EXPECT_EQ(framework_of_program("from mpi4py import MPI\n"), "mpi");
}

TEST(FrameworkOf, IsNotMisledByOtherWords) {
  EXPECT_EQ(framework_of_program(""), "none");
  EXPECT_EQ(framework_of_program("# import torch\nimport torchvision_like\nx = 'import jax'\n"),
            "none");
}

}  // namespace
}  // namespace dllaunch
