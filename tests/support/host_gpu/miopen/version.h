// The fake MIOpen's version comes from the build (tests/trainer/CMakeLists.txt).
#pragma once
