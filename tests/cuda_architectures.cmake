# Which GPUs the kernels are compiled for: cmake/cuda.cmake with a fake nvcc and nvidia-smi.
# -DSOURCE=the source tree -DWORK=a folder of its own
cmake_minimum_required(VERSION 3.23)

# program(NAME LINES): a program that prints the lines.
function(program name lines)
  file(WRITE ${WORK}/${name} "#!/bin/sh\nprintf '${lines}\\n'\n")
  file(CHMOD ${WORK}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# expect(ASKED TESTS LIST): of DLLAUNCH_CUDA_ARCHITECTURES and DLLAUNCH_TESTS.
function(expect asked tests wanted)
  set(DLLAUNCH_CUDA_ARCHITECTURES "${asked}")
  set(DLLAUNCH_TESTS ${tests})
  dllaunch_cuda_architectures(targets)
  if(NOT "${targets}" STREQUAL "${wanted}")
    message(SEND_ERROR "asked for '${asked}', tests ${tests}: ${targets} instead of ${wanted}")
  endif()
endfunction()

include(${SOURCE}/cmake/cuda.cmake)
set(NVCC ${WORK}/nvcc)
set(ENV{PATH} ${WORK}:$ENV{PATH})
program(nvidia-smi "9.0\\n12.0\\n9.0")

program(nvcc "sm_75\\nsm_80\\nsm_87\\nsm_90\\nsm_100\\nsm_110\\nsm_103\\nsm_120")
expect("" OFF "75;80;87;90;100;103;110;120")
expect("" ON "75;80;90")
expect("native" OFF "90;120")
expect("80;90" ON "80;90")
# A GPU that nvcc does not know runs PTX; where no driver answers, as little is compiled.
program(nvidia-smi "13.0")
expect("native" OFF "75;80;90")
program(nvidia-smi "No devices were found")
expect("native" OFF "75;80;90")

program(nvcc "sm_50\\nsm_61\\nsm_70\\nsm_72\\nsm_75\\nsm_80\\nsm_90")
expect("" OFF "70;75;80;90")
expect("" ON "70;75;80;90")
program(nvidia-smi "9.0")
expect("native" ON "90")
