# Tables written by the build: no registrar that a linker could drop, no #ifdef.

# dllaunch_table(SOURCE FUNCTION models TYPE ModelEntry HEADER trainer/models/models.hpp SUFFIX model NAMES a b)
# Sets SOURCE to a file in which FUNCTION() returns a span of TYPE: a_model, b_model, ... in that order.
# Each is an `extern const TYPE NAME_SUFFIX` of namespace dllaunch, defined in the file or folder NAME. The
# file declares it so, too: `const` alone would make it internal to the file.
function(dllaunch_table source)
  cmake_parse_arguments(ARG "" "FUNCTION;TYPE;HEADER;SUFFIX" "NAMES" ${ARGN})
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS ARG_NAMES)
    string(APPEND declarations "extern const ${ARG_TYPE} ${name}_${ARG_SUFFIX};\n")
    list(APPEND entries ${name}_${ARG_SUFFIX})
  endforeach()
  list(JOIN entries ", " entries)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}_table.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by trainer/tables.cmake.
#include \"@ARG_HEADER@\"

namespace dllaunch {

@declarations@
std::span<const @ARG_TYPE@> @ARG_FUNCTION@() {
  static const @ARG_TYPE@ table[] = {@entries@};
  return table;
}

}  // namespace dllaunch
")
  set(${source} ${table} PARENT_SCOPE)
endfunction()

# dllaunch_models(lenet cnn SHARED files): trainer/models/NAME.cpp must define NAME_model.
function(dllaunch_models)
  cmake_parse_arguments(ARG "" "" "SHARED" ${ARGN})
  set(names ${ARG_UNPARSED_ARGUMENTS})
  dllaunch_table(table FUNCTION models TYPE ModelEntry HEADER trainer/models/models.hpp SUFFIX model NAMES ${names})
  list(TRANSFORM names APPEND .cpp)
  dllaunch_room(trainer/models COLD SOURCES ${names} ${ARG_SHARED} ${table})
endfunction()

# dllaunch_datasets(mnist synthetic SHARED files): trainer/data/datasets/NAME.cpp must define NAME_dataset.
function(dllaunch_datasets)
  cmake_parse_arguments(ARG "" "" "SHARED" ${ARGN})
  set(names ${ARG_UNPARSED_ARGUMENTS})
  dllaunch_table(table FUNCTION datasets TYPE DatasetEntry HEADER trainer/data/datasets/dataset.hpp SUFFIX dataset
    NAMES ${names})
  list(TRANSFORM names APPEND .cpp)
  dllaunch_room(trainer/data/datasets HOT SOURCES ${names} ${ARG_SHARED} ${table})
endfunction()

# dllaunch_backend(NAME VERSION "oneDNN 2.6.3" [GPU_MEMORY ON|OFF] SOURCES ... [LINK targets ...]), in the
# backend's own folder. One of its sources must define NAME_backend. GPU_MEMORY: a communicator of this build
# reduces its device memory.
function(dllaunch_backend name)
  cmake_parse_arguments(ARG "" "VERSION;GPU_MEMORY" "" ${ARGN})
  dllaunch_room(trainer/backends/${name} HOT ${ARG_UNPARSED_ARGUMENTS})
  set(gpu_memory false)
  if(ARG_GPU_MEMORY)
    set(gpu_memory true)
  endif()
  set_property(GLOBAL APPEND PROPERTY DLLAUNCH_BUILT_BACKENDS "{\"${name}\", \"${ARG_VERSION}\", ${gpu_memory}}")
  set_property(GLOBAL APPEND PROPERTY DLLAUNCH_BACKENDS ${name})
endfunction()

# The backends in the order of their add_subdirectory lines: fastest first.
function(dllaunch_backend_table)
  get_property(names GLOBAL PROPERTY DLLAUNCH_BACKENDS)
  dllaunch_table(table FUNCTION backends TYPE BackendEntry HEADER trainer/backends/table/backends.hpp
    SUFFIX backend NAMES ${names})
  list(TRANSFORM names PREPEND dllaunch::trainer_backends_)
  dllaunch_room(trainer/backends/table SOURCES ${table} LINK ${names})
endfunction()
