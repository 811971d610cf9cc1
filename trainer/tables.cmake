# Tables written by the build: no registrar that a linker could drop, no #ifdef.

# dllaunch_write_table(TARGET t FUNCTION models TYPE ModelEntry HEADER trainer/graph/graph.hpp SUFFIX model NAMES a b)
# Adds to TARGET a source in which FUNCTION() returns a span of TYPE: a_model, b_model, ... in that order.
# Each is an `extern const TYPE NAME_SUFFIX` of namespace dllaunch, defined in the file or folder NAME.
function(dllaunch_write_table)
  cmake_parse_arguments(ARG "" "TARGET;FUNCTION;TYPE;HEADER;SUFFIX" "NAMES" ${ARGN})
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
  target_sources(${ARG_TARGET} PRIVATE ${table})
endfunction()

# dllaunch_models(lenet cnn): trainer/models/NAME.cpp must define NAME_model.
function(dllaunch_models)
  list(TRANSFORM ARGN REPLACE "(.+)" "models/\\1.cpp" OUTPUT_VARIABLE sources)
  target_sources(dllaunch_compute PRIVATE ${sources})
  dllaunch_write_table(TARGET dllaunch_compute FUNCTION models TYPE ModelEntry
    HEADER trainer/graph/graph.hpp SUFFIX model NAMES ${ARGN})
endfunction()

# dllaunch_backend(NAME SOURCES ... [LINK targets ...]), in the backend's own folder.
# One of its sources must define NAME_backend.
function(dllaunch_backend name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  target_sources(dllaunch_compute PRIVATE ${ARG_SOURCES})
  target_link_libraries(dllaunch_compute PRIVATE ${ARG_LINK})
  set_property(TARGET dllaunch_compute APPEND PROPERTY DLLAUNCH_BACKENDS ${name})
endfunction()

# The backends in the order of their add_subdirectory lines: fastest first.
function(dllaunch_write_backend_table)
  get_target_property(names dllaunch_compute DLLAUNCH_BACKENDS)
  dllaunch_write_table(TARGET dllaunch_compute FUNCTION backends TYPE BackendEntry
    HEADER trainer/backends/backend.hpp SUFFIX backend NAMES ${names})
endfunction()

# dllaunch_datasets(mnist synthetic): trainer/data/datasets/NAME.cpp must define NAME_dataset.
function(dllaunch_datasets)
  list(TRANSFORM ARGN REPLACE "(.+)" "data/datasets/\\1.cpp" OUTPUT_VARIABLE sources)
  target_sources(dllaunch_trainer PRIVATE ${sources})
  dllaunch_write_table(TARGET dllaunch_trainer FUNCTION datasets TYPE DatasetEntry
    HEADER trainer/data/datasets/dataset.hpp SUFFIX dataset NAMES ${ARGN})
endfunction()
