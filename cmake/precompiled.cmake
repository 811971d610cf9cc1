# Precompiles the headers of other libraries that most units include: of a unit's compile time, half is theirs.
# No header of this project is among them, so no edit builds them again. A file must still include what it
# uses: clang builds (presets fuzz and tidy) do without.
set(DLLAUNCH_PCH_DEFAULT OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(DLLAUNCH_PCH_DEFAULT ON)
endif()
option(DLLAUNCH_PCH "precompile the standard library's, fmt's and GoogleTest's headers" ${DLLAUNCH_PCH_DEFAULT})
if(DLLAUNCH_PCH)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>) # for ccache
endif()

# dllaunch_precompiled(NAME HEADERS ... [LINK targets ...] [OPTIONS compile options ...])
# NAME owns precompiled headers; dllaunch_precompile() lets targets with the same options share them.
function(dllaunch_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  if(NOT DLLAUNCH_PCH)
    return()
  endif()
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE dllaunch::warnings ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if("-fPIE" IN_LIST ARG_OPTIONS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  # ccache compares this in place of the precompiled file, which is never twice the same.
  string(SHA1 sum "${name} ${ARG_HEADERS} ${ARG_OPTIONS} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${DLLAUNCH_SANITIZE}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum "${sum}\n")
endfunction()

# For rooms, once for each of dllaunch_room()'s degrees of optimisation: g++ 12 crashes in a unit with -O3 that uses
# headers precompiled with -O1.
function(dllaunch_precompile_rooms)
  set(headers <algorithm> <chrono> <filesystem> <fmt/core.h> <fstream> <functional> <map> <memory> <optional>
              <set> <string> <thread> <utility> <variant> <vector>)
  dllaunch_precompiled(dllaunch_rooms_pch HEADERS ${headers} LINK fmt::fmt)
  dllaunch_precompiled(dllaunch_cold_pch HEADERS ${headers} LINK fmt::fmt OPTIONS ${DLLAUNCH_COLD})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    dllaunch_precompiled(dllaunch_hot_pch HEADERS ${headers} LINK fmt::fmt OPTIONS ${DLLAUNCH_HOT})
  endif()
endfunction()

function(dllaunch_precompile target owner)
  if(TARGET ${owner})
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# With precompiled headers g++ 12 no longer knows that its wrong warnings of bounds, where it optimises (GCC bug
# 105651), come from a system header.
set(DLLAUNCH_PCH_WARNINGS
  $<$<BOOL:${DLLAUNCH_PCH}>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)

# The same for an optimised test.
function(dllaunch_precompile_optimized target)
  target_compile_options(${target} PRIVATE ${DLLAUNCH_PCH_WARNINGS})
  dllaunch_precompile(${target} dllaunch_optimized_test_pch)
endfunction()
