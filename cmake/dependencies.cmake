# All of these are packages of Debian 12. `./dev deps` installs them.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(RapidJSON REQUIRED)
if(MEMSCOPE_TESTS OR MEMSCOPE_FUZZ)
  # Tests read JSON with another library than the one that memscope writes it with.
  find_package(nlohmann_json REQUIRED)
endif()
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
find_program(MEMSCOPE_CLANG NAMES clang-19 clang-16 clang-14 clang REQUIRED)
find_program(MEMSCOPE_LLVM_STRIP NAMES llvm-strip-19 llvm-strip-16 llvm-strip-14 llvm-strip REQUIRED)
find_program(MEMSCOPE_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

# Libraries that Debian also packages as static archives are linked statically, so that the program needs few shared
# libraries.
function(memscope_static_library target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  foreach(archive ${ARGN})
    find_library(MEMSCOPE_ARCHIVE_${archive} NAMES lib${archive}.a REQUIRED)
    target_link_libraries(${target} INTERFACE "${MEMSCOPE_ARCHIVE_${archive}}")
  endforeach()
endfunction()
memscope_static_library(external_libbpf bpf elf z)
memscope_static_library(external_zlib z)
memscope_static_library(external_ncursesw ncursesw tinfo)
memscope_static_library(external_sqlite sqlite3)
target_link_libraries(external_sqlite INTERFACE m)
memscope_static_library(external_zstd zstd)

function(memscope_shared_library target library)
  find_library(MEMSCOPE_SHARED_${library} NAMES ${library} REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(${target} INTERFACE "${MEMSCOPE_SHARED_${library}}")
endfunction()
# Debian builds libmicrohttpd with GnuTLS, which needs nine more libraries. So the packages of memscope contain a build
# without TLS from the same source package (packaging/microhttpd.sh). It is not installed, so other programs still use
# the shared library.
set(MEMSCOPE_MICROHTTPD "" CACHE PATH "directory with libmicrohttpd.a without TLS; empty: the installed shared library")
if(MEMSCOPE_MICROHTTPD)
  add_library(external_microhttpd INTERFACE IMPORTED GLOBAL)
  target_link_libraries(external_microhttpd INTERFACE "${MEMSCOPE_MICROHTTPD}/libmicrohttpd.a")
else()
  memscope_shared_library(external_microhttpd microhttpd)
endif()
# Does not use the CMake package of prometheus-cpp, because that package also requires the web server and the client of
# its other parts.
memscope_shared_library(external_prometheus prometheus-cpp-core)

# protozero consists of headers only.
find_path(MEMSCOPE_PROTOZERO protozero/pbf_writer.hpp REQUIRED)
add_library(external_protozero INTERFACE IMPORTED GLOBAL)
target_include_directories(external_protozero INTERFACE "${MEMSCOPE_PROTOZERO}")
