# `cpack -G DEB` and `cpack -G RPM`, in the folder of a Release build: what `cmake --install` writes, below /usr.
# rpmbuild needs a path without spaces: `cpack -G RPM -B /tmp/packages`.
set(CPACK_PACKAGE_NAME dllaunch)
set(CPACK_PACKAGE_CONTACT "dllaunch developers <dllaunch@example.org>" CACHE STRING "who maintains the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Launcher for deep learning on Slurm clusters")
set(CPACK_PACKAGE_DESCRIPTION "dllaunch turns one YAML file into a bound, running, self-healing multi-GPU
job. It computes which cores are next to which GPU, writes and submits the
batch script, starts one rank per GPU, and restarts the job when a rank, a
node or the time limit ends it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_documents.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Starts ranks where there is no Slurm; opened by name for native stacks of ranks that hang.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, libdw1")

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_RPM_SPEC_MORE_DEFINE "Packager: ${CPACK_PACKAGE_CONTACT}")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1)  # of other packages
include(CPack)
