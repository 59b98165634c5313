# memscope_library(NAME [OPTIMISED] USES lib... LINKS external... APART file-or-folder...)
#
# Makes one static library from a folder below userspace/.
# OPTIMISED: also optimized in debug builds, and compiled without fused multiply-add, so that results are the same on
# every architecture.
# USES: the libraries that the folder may use. The linker gets this list. It is also written to layers.txt, and a unit
# test compares the includes of the folder with it. There is no second list of dependencies.
set(MEMSCOPE_LAYERS_FILE "${CMAKE_BINARY_DIR}/layers.txt")
file(WRITE "${MEMSCOPE_LAYERS_FILE}" "")

option(MEMSCOPE_TOGETHER "Compile the files of each folder as one, which takes half the CPU time; OFF for clang-tidy" ON)

# Files of a folder that are compiled as one share one anonymous namespace, so a name may occur only once in a folder.
# APART: files and folders that are compiled by themselves, for instance because a header of a library defines macros.
function(compile_together target apart)
  if(NOT MEMSCOPE_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ warns of a member whose type is in an anonymous namespace if the type is not in the main file. Here the main
  # file only includes the files of the folder.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  foreach(source ${ARGN})
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
    get_filename_component(folder "${name}" DIRECTORY)
    if(NOT name IN_LIST apart AND NOT (folder AND folder IN_LIST apart))
      string(REPLACE "/" "_" group "together_${folder}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
    endif()
  endforeach()
endfunction()

# For a program of tests: compiles its folders as `count` files. Files of tests use the same templates of GoogleTest and
# of the standard library, which take most of the time and are compiled once per file.
function(compile_in_parts target count)
  compile_together(${target} "" ${ARGN})
  set(folders "")
  foreach(source ${ARGN})
    get_filename_component(folder "${source}" DIRECTORY)
    list(APPEND folders "${folder}")
    list(REMOVE_DUPLICATES folders)
    list(FIND folders "${folder}" index)
    math(EXPR part "${index} % ${count}")
    if(MEMSCOPE_TOGETHER)
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP part_${part})
    endif()
  endforeach()
endfunction()

function(memscope_library name)
  cmake_parse_arguments(arg "OPTIMISED" "" "USES;LINKS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(memscope_${name} STATIC ${sources})
  compile_together(memscope_${name} "${arg_APART}" ${sources})
  # These headers take a quarter of the compile time. The precompiled header is made once for all libraries with the
  # same options.
  if(name STREQUAL "base" OR arg_OPTIMISED)
    target_precompile_headers(memscope_${name} PRIVATE <algorithm> <array> <charconv> <chrono> <cmath> <functional> <map>
      <memory> <optional> <set> <span> <string> <unordered_map> <variant> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(memscope_${name} REUSE_FROM memscope_base)
  endif()
  if(arg_OPTIMISED)
    target_compile_options(memscope_${name} PRIVATE $<$<CONFIG:Debug>:-O2> -ffp-contract=off)
  endif()
  target_include_directories(memscope_${name} PUBLIC "${PROJECT_SOURCE_DIR}/userspace" "${PROJECT_SOURCE_DIR}/include")
  list(TRANSFORM arg_USES PREPEND memscope_ OUTPUT_VARIABLE uses)
  target_link_libraries(memscope_${name} PUBLIC ${uses} ${arg_LINKS})
  string(REPLACE ";" " " uses_text "${arg_USES}")
  file(APPEND "${MEMSCOPE_LAYERS_FILE}" "${name}: ${uses_text}\n")
endfunction()
