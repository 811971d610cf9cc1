// The PTX that nvcc makes of kernels.cpp: counts instructions without running them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/trainer/backends/gpu/kernels/kernel_names.hpp"
#include "trainer/backends/gpu/kernels/kernel_list.hpp"

namespace dllaunch {
namespace {

/// Instructions of a kernel, including those of its loop over indexes.
struct Instructions {
  int all = 0;
  int doubles = 0;    // fp64, conversions included
  int divisions = 0;  // of integers, and remainders
  int wide = 0;       // loads and stores of 128 bits
  int to_halves = 0;  // conversions from and to 16-bit floats
  int of_halves = 0;
  int barriers = 0;
  int bounds = 0;  // those of a launch: threads of a block, blocks that fit
};

/// Adds one line of a kernel's body: a label, a directive, or an instruction with or without a
/// predicate, "@%p1 bra $L__BB0_2;".
void count(const std::string& line, Instructions& in) {
  static const std::regex instruction(R"(^\s+(?:@!?%p\d+\s+)?([a-z][a-z0-9_.:]*))");
  static const std::regex division(R"(^(div|rem)\.[us](16|32|64)$)");
  static const std::regex to_half(R"(^cvt\.rn\.b?f16\.f32$)");
  static const std::regex wide(R"(^(ld|st)\.global(\.nc)?\.(v4\.[a-z]32|v2\.[a-z]64)$)");
  std::smatch match;
  if (!std::regex_search(line, match, instruction)) return;
  const std::string name = match[1];
  ++in.all;
  if (name.find(".f64") != std::string::npos) ++in.doubles;
  if (std::regex_match(name, division)) ++in.divisions;
  if (std::regex_match(name, wide)) ++in.wide;
  if (std::regex_match(name, to_half)) ++in.to_halves;
  if (name == "cvt.f32.f16") ++in.of_halves;
  if (name.starts_with("bar.sync") || name.starts_with("barrier.sync")) ++in.barriers;
}

/// Returns what the kernels of a PTX file consist of, by functor.
std::map<std::string, Instructions> kernels_of(std::istream& ptx) {
  static const std::regex entry(R"(\.entry (\w+)\()");
  std::map<std::string, Instructions> kernels;
  static const std::regex bound(R"(^\.(maxntid 256\b|minnctapersm 3\b))");
  Instructions* kernel = nullptr;
  bool inside = false;
  for (std::string line; std::getline(ptx, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) kernel = &kernels[functor_of(match[1])];
    if (kernel != nullptr && std::regex_search(line, bound)) ++kernel->bounds;
    if (line == "{") inside = true;
    if (line == "}") {
      inside = false;
      kernel = nullptr;
    }
    if (inside && kernel != nullptr) count(line, *kernel);
  }
  return kernels;
}

/// Kernels that may compute in double: none of them runs for each activation.
bool may_use_doubles(std::string_view functor) {
  static constexpr std::string_view names[] = {
      "JoinMoments<", "TakeMoments<", "TakeRunning<", "JoinSums<", "TakeMeans<",
      // Above: once per channel. Once per image; the host's sum of losses is a double, too:
      "LossRows<",
      // Sums over whole parameters, which LARS and LAMB divide by each other:
      "SquareParts<", "JoinSquares<"};
  return std::ranges::any_of(names, [&](auto name) { return functor.starts_with(name); });
}

TEST(CudaKernels, DivideNoIntegersComputeNoElementInDoubleAndAreBounded) {
  const std::string path = DLLAUNCH_CUDA_PTX;
  if (path.empty()) GTEST_SKIP() << "no kernel has been compiled for NVIDIA: no nvcc";
  std::ifstream ptx(path);
  const auto kernels = kernels_of(ptx);
  int instructions = 0;
  std::set<std::string> names;
  for (const auto& [functor, in] : kernels) {
    names.insert(functor);
    instructions += in.all;
    EXPECT_GT(in.all, 10) << functor;
    EXPECT_EQ(in.divisions, 0) << functor;
    EXPECT_EQ(in.bounds, 2) << functor;
    EXPECT_TRUE(in.doubles == 0 || may_use_doubles(functor)) << functor;
  }
  const std::set<std::string> listed = listed_functors(gpu::Kernels{});
  EXPECT_TRUE(std::ranges::includes(names, listed));
  EXPECT_GT(names.size(), listed.size()) << "and those of optimisers";
  std::cout << kernels.size() << " kernels of " << instructions << " PTX instructions\n";
}

/// Kernels that read and write activations alone, in the order of memory.
TEST(CudaKernels, LoadAndStore128BitsWhereNeighboursAreComputedAlike) {
  const std::string path = DLLAUNCH_CUDA_PTX;
  if (path.empty()) GTEST_SKIP() << "no kernel has been compiled for NVIDIA: no nvcc";
  std::ifstream ptx(path);
  const auto kernels = kernels_of(ptx);
  const std::map<std::string, int> loads_and_stores = {{"ActivationForward<Relu, T>", 2},
                                                       {"ActivationBackward<Relu, T>", 4},
                                                       {"SumOfTwo<T>", 3},
                                                       {"AddBias<T>", 3},
                                                       {"Convert<T, T>", 3},
                                                       {"FindNonFinite<T>", 1},
                                                       {"ChunkMoments<T>", 4},
                                                       {"ChunkGradSums<T>", 7},
                                                       {"NormForward<T>", 7},
                                                       {"NormBackward<T>", 12},
                                                       {"MaxPoolForward<T>", 2},
                                                       {"MaxPoolBackward<T>", 3},
                                                       {"AvgPoolForward<T>", 2},
                                                       {"AvgPoolBackward<T>", 3},
                                                       {"GlobalAvgPoolForward<T>", 2},
                                                       {"GlobalAvgPoolBackward<T>", 3},
                                                       {"ZeroPadForward<T>", 2},
                                                       {"ZeroPadBackward<T>", 3},
                                                       {"GeluForward<T>", 2},
                                                       {"GeluBackward<T>", 4},
                                                       {"MoveElements<T>", 4},
                                                       {"EmbedTokens<T>", 2},
                                                       {"EmbeddingGrads<T>", 4},
                                                       {"RowNormForward<T>", 4},
                                                       {"RowNormBackward<T>", 5},
                                                       {"ChunkRowGradSums<T>", 4},
                                                       {"SplitHeads<T>", 2},
                                                       {"JoinHeads<T>", 3},
                                                       {"SoftmaxWeights<T>", 2},
                                                       {"SoftmaxGrads<T>", 3}};
  for (const auto& [name, least] : loads_and_stores) {
    for (const char* type : {"float", "BFloat16", "Float16"}) {
      const std::string functor = std::regex_replace(name, std::regex(R"(\bT\b)"), type);
      ASSERT_TRUE(kernels.contains(functor)) << functor;
      const Instructions& in = kernels.at(functor);
      EXPECT_GE(in.wide, least) << functor;
      std::cout << functor << ": " << in.all << " PTX instructions, " << in.wide
                << " accesses of 128 bits\n";
    }
  }
}

/// Every optimiser's: weights, gradients and states.
TEST(CudaKernels, LoadAndStore128BitsOfArenas) {
  const std::string path = DLLAUNCH_CUDA_PTX;
  if (path.empty()) GTEST_SKIP() << "no kernel has been compiled for NVIDIA: no nvcc";
  std::ifstream ptx(path);
  int found = 0;
  for (const auto& [functor, in] : kernels_of(ptx)) {
    if (!functor.starts_with("Update")) continue;
    ++found;
    EXPECT_GE(in.wide, 9) << functor << ": 5 loads, 4 stores";
  }
  EXPECT_GE(found, 15);
}

/// In software, a conversion takes about twenty instructions.
TEST(CudaKernels, ConvertHalvesByInstructions) {
  const std::string path = DLLAUNCH_CUDA_PTX;
  if (path.empty()) GTEST_SKIP() << "no kernel has been compiled for NVIDIA: no nvcc";
  std::ifstream ptx(path);
  int found = 0;
  for (const auto& [functor, in] : kernels_of(ptx)) {
    const bool reads_alone =
        functor.starts_with("FindNonFinite<") || functor.starts_with("Chunk") ||
        functor.starts_with("SumOverSamples<") || functor.starts_with("EmbeddingGrads<") ||
        functor.starts_with("RowMoments<") || functor.starts_with("RowGradMeans<") ||
        functor.starts_with("SoftmaxGradSums<") || functor.ends_with(", float>");
    const bool writes_alone =
        functor.starts_with("Convert<float,") || functor.starts_with("ToChannelsLast<float,") ||
        functor.starts_with("LossGrads<") || functor.starts_with("PrepareImages<") ||
        functor.starts_with("EmbedTokens<") || functor.starts_with("SoftmaxWeights<");
    const bool is_float16 = functor.find("Float16") != std::string::npos &&
                            functor.find("BFloat16") == std::string::npos;
    const bool is_bfloat16 = functor.find("BFloat16") != std::string::npos;
    if (!is_float16 && !is_bfloat16) continue;
    ++found;
    EXPECT_TRUE(reads_alone || in.to_halves > 0) << functor;
    EXPECT_TRUE(is_bfloat16 || writes_alone || in.of_halves > 0) << functor;
  }
  EXPECT_GT(found, 50);
}

/// A thread that walks over all chunks of a channel alone waits for memory most of the time.
TEST(CudaKernels, JoinSumsInBlocks) {
  const std::string path = DLLAUNCH_CUDA_PTX;
  if (path.empty()) GTEST_SKIP() << "no kernel has been compiled for NVIDIA: no nvcc";
  std::ifstream ptx(path);
  const auto kernels = kernels_of(ptx);
  for (const std::string functor :
       {"JoinMoments<double>", "JoinSums<double>", "SquareParts<double>", "JoinSquares<double>",
        "LargestOutputs", "LossRows<SoftmaxCrossEntropy>", "LossRows<SigmoidCrossEntropy>",
        "LossRows<MeanSquaredError>", "RowMoments<float>", "RowGradMeans<float>", "SoftmaxRows",
        "SoftmaxGradSums<float>", "FindOccurrences"}) {
    ASSERT_TRUE(kernels.contains(functor)) << functor;
    EXPECT_GT(kernels.at(functor).barriers, 0) << functor;
  }
}

/// Checks the inspection itself.
TEST(CudaKernels, WhatIsForbiddenIsSeen) {
  std::istringstream ptx(
      ".visible .entry _ZN8dllaunch13call_for_eachINS_3gpu8SumOfTwoIfEEEEvllT_(\n"
      "\t.param .u64 count\n)\n.maxntid 256, 1, 1\n.minnctapersm 3\n{\n"
      "\t.reg .f64 \t%fd<3>;\n"
      "\t// a comment: div.s64\n"
      "$L__BB0_1:\n"
      "\tld.global.f32 \t%f1, [%rd1];\n"
      "\tld.global.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n"
      "\tdiv.rn.f32 \t%f2, %f1, %f1;\n"
      "\tcvt.f64.f32 \t%fd1, %f1;\n"
      "\tcvt.rn.f16.f32 %rs1, %f1;\n"
      "\tcvt.rn.bf16.f32 %rs1, %f1;\n"
      "\tcvt.f32.f16 %f1, %rs1;\n"
      "\t@%p1 div.s64 \t%rd2, %rd1, %rd3;\n"
      "\t@!%p1 rem.u32 \t%r2, %r1, %r3;\n"
      "\tbar.sync \t0;\n"
      "\tret;\n\n}\n");
  const auto kernels = kernels_of(ptx);
  ASSERT_TRUE(kernels.contains("SumOfTwo<float>"));
  const Instructions in = kernels.at("SumOfTwo<float>");
  EXPECT_EQ(in.all, 11);
  EXPECT_EQ(in.doubles, 1);
  EXPECT_EQ(in.divisions, 2);
  EXPECT_EQ(in.wide, 1);
  EXPECT_EQ(in.to_halves, 2);
  EXPECT_EQ(in.of_halves, 1);
  EXPECT_EQ(in.barriers, 1);
  EXPECT_EQ(in.bounds, 2);
}

}  // namespace
}  // namespace dllaunch
