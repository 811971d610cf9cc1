# Builds for 64-bit Arm on another machine, with Debian's cross compiler and the libraries of scripts/sysroot.
# qemu-user runs the programs that the build and the tests start.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
cmake_path(SET CMAKE_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot-aarch64)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# No PKG_CONFIG_SYSROOT_DIR: pkg-config splits a path at its blanks. The paths of system folders are left out anyway.
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# The mpicc that is found is this machine's. Ranks meet over TCP, or by a module that the cluster builds.
set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)
# Otherwise CMake finds the cross compiler's own libgomp, not the sysroot's.
set(OpenMP_gomp_LIBRARY ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/libgomp.so.1 CACHE FILEPATH "")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
