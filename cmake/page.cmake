# The web page of `memscope web` and `memscope report --html`, made by npm and put into the program. Without npm the
# program is built without the page and prints an error if the page is requested.
set(MEMSCOPE_PAGE AUTO CACHE STRING "Put the web page into the program: ON, OFF, or AUTO (if npm can make it)")
set_property(CACHE MEMSCOPE_PAGE PROPERTY STRINGS ON OFF AUTO)

# memscope_page(OUT): sets OUT to the source file that contains the page.
function(memscope_page out)
  set(source "${PROJECT_SOURCE_DIR}/dashboards/page")
  set(made "${CMAKE_BINARY_DIR}/page/page_files.cpp")
  find_program(MEMSCOPE_NODE node)
  find_program(MEMSCOPE_NPM npm)
  set(possible TRUE)
  if(NOT MEMSCOPE_NODE OR NOT MEMSCOPE_NPM OR NOT EXISTS "${source}/package-lock.json")
    set(possible FALSE)
  endif()
  if(MEMSCOPE_PAGE STREQUAL "ON" AND NOT possible)
    message(FATAL_ERROR "MEMSCOPE_PAGE is ON, but the web page cannot be made: install nodejs and npm")
  endif()
  if(MEMSCOPE_PAGE STREQUAL "OFF" OR NOT possible)
    if(NOT MEMSCOPE_PAGE STREQUAL "OFF")
      # Not STATUS: ./dev shows only what is on standard error.
      message(NOTICE "npm or node is missing: memscope web and memscope report --html will not work in this build")
    endif()
    set(none "${CMAKE_BINARY_DIR}/page/no_page_files.cpp")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/no_page_files.cpp.in" "${none}" COPYONLY)
    set(${out} "${none}" PARENT_SCOPE)
    return()
  endif()
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${source}/src/*" "${source}/*.json" "${source}/*.mjs")
  list(FILTER inputs EXCLUDE REGEX "/(node_modules|dist)/")
  add_custom_command(OUTPUT "${made}"
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${source}" "-DWORK=${CMAKE_BINARY_DIR}/page" "-DMADE=${made}"
      "-DNONE=${PROJECT_SOURCE_DIR}/cmake/no_page_files.cpp.in" "-DEMBED=${PROJECT_SOURCE_DIR}/cmake/embed_page.mjs"
      "-DNODE=${MEMSCOPE_NODE}" "-DNPM=${MEMSCOPE_NPM}" "-DREQUIRED=${MEMSCOPE_PAGE}"
      -P "${PROJECT_SOURCE_DIR}/cmake/build_page.cmake"
    DEPENDS ${inputs} "${PROJECT_SOURCE_DIR}/cmake/build_page.cmake" "${PROJECT_SOURCE_DIR}/cmake/embed_page.mjs"
    COMMENT "Making the web page" VERBATIM)
  set(${out} "${made}" PARENT_SCOPE)
endfunction()
