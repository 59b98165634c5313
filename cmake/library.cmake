# memscope_library(NAME USES lib... LINKS external...)
#
# One static library per folder below userspace/. USES is the dependency rule of the house: it is what the
# linker gets, and it is written to layers.txt, which the include test reads. There is no second list.
set(MEMSCOPE_LAYERS_FILE "${CMAKE_BINARY_DIR}/layers.txt")
file(WRITE "${MEMSCOPE_LAYERS_FILE}" "")

function(memscope_library name)
  cmake_parse_arguments(arg "" "" "USES;LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(sources)
    add_library(memscope_${name} STATIC ${sources})
    set(scope PUBLIC)
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
