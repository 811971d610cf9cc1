// The part of MIOpen that the hip backend uses, on the host. Names, numbers and argument order are
// MIOpen's; fake_miopen.cpp computes what the descriptors say, by plain loops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_api.hpp"

struct miopenHandle;
struct miopenTensorDescriptor;
struct miopenConvolutionDescriptor;
using miopenHandle_t = miopenHandle*;
using miopenTensorDescriptor_t = miopenTensorDescriptor*;
using miopenConvolutionDescriptor_t = miopenConvolutionDescriptor*;
using miopenAcceleratorQueue_t = dllaunch::GpuStream;

enum miopenStatus_t {
  miopenStatusSuccess = 0,
  miopenStatusBadParm = 3,
  miopenStatusNotImplemented = 6,
  miopenStatusUnknownError = 7
};
enum miopenDataType_t { miopenHalf = 0, miopenFloat = 1, miopenBFloat16 = 5 };
enum miopenConvolutionMode_t { miopenConvolution = 0, miopenTranspose = 1 };
enum miopenConvolutionAttrib_t {
  MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0,
  MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1
};
enum miopenConvAlgorithm_t {
  miopenConvolutionAlgoGEMM = 0,
  miopenConvolutionAlgoDirect = 1,
  miopenConvolutionAlgoFFT = 2,
  miopenConvolutionAlgoWinograd = 3,
  miopenConvolutionAlgoImplicitGEMM = 5
};
struct miopenConvSolution_t {
  float time;
  std::size_t workspace_size;
  std::uint64_t solution_id;
  miopenConvAlgorithm_t algorithm;
};

extern "C" {
const char* miopenGetErrorString(miopenStatus_t error);
miopenStatus_t miopenGetVersion(std::size_t* major, std::size_t* minor, std::size_t* patch);
miopenStatus_t miopenCreate(miopenHandle_t* handle);
miopenStatus_t miopenDestroy(miopenHandle_t handle);
miopenStatus_t miopenSetStream(miopenHandle_t handle, miopenAcceleratorQueue_t stream);

miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* made);
miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensor);
miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensor, miopenDataType_t type,
                                         int dimensions, const int* sizes, const int* strides);
miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* made);
miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convolution);
miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t convolution,
                                                 int dimensions, const int* padding,
                                                 const int* stride, const int* dilation,
                                                 miopenConvolutionMode_t mode);
miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convolution,
                                             miopenConvolutionAttrib_t name, int value);

miopenStatus_t miopenConvolutionForwardGetSolutionCount(miopenHandle_t, miopenTensorDescriptor_t w,
                                                        miopenTensorDescriptor_t x,
                                                        miopenConvolutionDescriptor_t,
                                                        miopenTensorDescriptor_t y,
                                                        std::size_t* count);
miopenStatus_t miopenConvolutionForwardGetSolution(miopenHandle_t, miopenTensorDescriptor_t w,
                                                   miopenTensorDescriptor_t x,
                                                   miopenConvolutionDescriptor_t,
                                                   miopenTensorDescriptor_t y, std::size_t most,
                                                   std::size_t* count,
                                                   miopenConvSolution_t* solutions);
miopenStatus_t miopenConvolutionForwardCompileSolution(miopenHandle_t, miopenTensorDescriptor_t w,
                                                       miopenTensorDescriptor_t x,
                                                       miopenConvolutionDescriptor_t,
                                                       miopenTensorDescriptor_t y,
                                                       std::uint64_t solution);
miopenStatus_t miopenConvolutionForwardImmediate(miopenHandle_t, miopenTensorDescriptor_t w,
                                                 const void* w_data, miopenTensorDescriptor_t x,
                                                 const void* x_data, miopenConvolutionDescriptor_t,
                                                 miopenTensorDescriptor_t y, void* y_data,
                                                 void* workspace, std::size_t workspace_size,
                                                 std::uint64_t solution);

miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t w,
    miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dx, std::size_t* count);
miopenStatus_t miopenConvolutionBackwardDataGetSolution(miopenHandle_t, miopenTensorDescriptor_t dy,
                                                        miopenTensorDescriptor_t w,
                                                        miopenConvolutionDescriptor_t,
                                                        miopenTensorDescriptor_t dx,
                                                        std::size_t most, std::size_t* count,
                                                        miopenConvSolution_t* solutions);
miopenStatus_t miopenConvolutionBackwardDataCompileSolution(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t w,
    miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dx, std::uint64_t solution);
miopenStatus_t miopenConvolutionBackwardDataImmediate(
    miopenHandle_t, miopenTensorDescriptor_t dy, const void* dy_data, miopenTensorDescriptor_t w,
    const void* w_data, miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dx, void* dx_data,
    void* workspace, std::size_t workspace_size, std::uint64_t solution);

miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
    miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dw, std::size_t* count);
miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
    miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dw, std::size_t most,
    std::size_t* count, miopenConvSolution_t* solutions);
miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(
    miopenHandle_t, miopenTensorDescriptor_t dy, miopenTensorDescriptor_t x,
    miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dw, std::uint64_t solution);
miopenStatus_t miopenConvolutionBackwardWeightsImmediate(
    miopenHandle_t, miopenTensorDescriptor_t dy, const void* dy_data, miopenTensorDescriptor_t x,
    const void* x_data, miopenConvolutionDescriptor_t, miopenTensorDescriptor_t dw, void* dw_data,
    void* workspace, std::size_t workspace_size, std::uint64_t solution);
}
