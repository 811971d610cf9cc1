# Run by cpack in the staged tree of a package: the documents that Debian's policy asks for.
set(staged ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
string(TOLOWER ${CPACK_GENERATOR} kind)
file(WRITE ${staged}/dllaunch/install "${kind}\n")  # what `dllaunch info` shows
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()  # rpmbuild compresses by itself
endif()
set(documents ${staged}/doc/dllaunch)
get_filename_component(project ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

file(REMOVE ${documents}/LICENSE)
file(WRITE ${documents}/copyright "dllaunch is distributed under the Apache License 2.0, on Debian also in
/usr/share/common-licenses/Apache-2.0.

Copyright 2026 the dllaunch developers
")
configure_file(${project}/CHANGELOG.md ${documents}/changelog COPYONLY)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${documents}/changelog.Debian "dllaunch (${CPACK_PACKAGE_VERSION}-1) unstable; urgency=medium

  * Built by cpack; changelog.gz has the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
# NVIDIA's own packages put CUDA where no loader looks.
file(WRITE ${staged}/lintian/overrides/dllaunch
  "dllaunch: custom-library-search-path RUNPATH /usr/local/cuda/lib64 *\n")
file(GLOB compressed ${staged}/man/man*/* ${documents}/changelog ${documents}/changelog.Debian)
execute_process(COMMAND gzip --best --no-name ${compressed} COMMAND_ERROR_IS_FATAL ANY)
