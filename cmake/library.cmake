# memscope_library(NAME [OPTIMISED] USES lib... LINKS external... APART file-or-folder...)
#
# OPTIMISED: in debug builds as well, and with the same numbers on every architecture: nothing is fused.
# One static library per folder below userspace/. USES is the dependency rule of the house: it is what the
# linker gets, and it is written to layers.txt, which the include test reads. There is no second list.
set(MEMSCOPE_LAYERS_FILE "${CMAKE_BINARY_DIR}/layers.txt")
file(WRITE "${MEMSCOPE_LAYERS_FILE}" "")

option(MEMSCOPE_TOGETHER "Compile the files of each folder as one, which takes half the CPU time; OFF for clang-tidy" ON)

# Files of a folder that are compiled as one share their anonymous namespace, so a name may occur only once in a folder.
# APART: files and folders that are compiled by themselves, for instance because a header of a library defines macros.
function(compile_together target apart)
  if(NOT MEMSCOPE_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ warns of members whose types are in an anonymous namespace if they are not in the file it was given.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  foreach(source ${ARGN})
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
    get_filename_component(folder "${name}" DIRECTORY)
    if(NOT name IN_LIST apart AND NOT (folder AND folder IN_LIST apart))
      string(REPLACE "/" "_" group "together_${folder}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
    endif()
  endforeach()
endfunction()

# For a program of tests: compiles its folders as so many files. Files of tests use the same templates of GoogleTest and of
# the standard library, which take most of the time and are compiled once per file.
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
  if(sources)
    add_library(memscope_${name} STATIC ${sources})
    set(scope PUBLIC)
    compile_together(memscope_${name} "${arg_APART}" ${sources})
    # A quarter of the time it takes to compile; made once for all that are compiled with the same options.
    if(name STREQUAL "base" OR arg_OPTIMISED)
      target_precompile_headers(memscope_${name} PRIVATE <algorithm> <array> <charconv> <chrono> <cmath> <functional> <map>
        <memory> <optional> <set> <span> <string> <unordered_map> <variant> <vector> <fmt/format.h>)
    else()
      target_precompile_headers(memscope_${name} REUSE_FROM memscope_base)
    endif()
    if(arg_OPTIMISED)
      target_compile_options(memscope_${name} PRIVATE $<$<CONFIG:Debug>:-O2> -ffp-contract=off)
    endif()
  else()
    add_library(memscope_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(memscope_${name} ${scope} "${PROJECT_SOURCE_DIR}/userspace" "${PROJECT_SOURCE_DIR}/include")
  list(TRANSFORM arg_USES PREPEND memscope_ OUTPUT_VARIABLE uses)
  target_link_libraries(memscope_${name} ${scope} ${uses} ${arg_LINKS})
  string(REPLACE ";" " " uses_text "${arg_USES}")
  file(APPEND "${MEMSCOPE_LAYERS_FILE}" "${name}: ${uses_text}\n")
endfunction()
