# Builds for one of the two architectures with Debian's g++, which has the same name whether it is the native or the
# cross compiler. Needs MEMSCOPE_ARCH (amd64 or arm64). On a machine of the other kind the libraries come from
# build/sysroot-ARCH, which packaging/sysroot.sh makes.
set(processor_amd64 x86_64)
set(processor_arm64 aarch64)
set(processor "${processor_${MEMSCOPE_ARCH}}")
if(NOT processor)
  message(FATAL_ERROR "MEMSCOPE_ARCH is '${MEMSCOPE_ARCH}', not amd64 or arm64")
endif()
# When CMake checks the compiler, it reads this file again and sees only the variables in this list.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MEMSCOPE_ARCH)

set(CMAKE_C_COMPILER ${processor}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${processor}-linux-gnu-g++)

if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL processor)
  get_filename_component(sysroot "${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot-${MEMSCOPE_ARCH}" ABSOLUTE)
  if(NOT EXISTS "${sysroot}/.complete")
    message(FATAL_ERROR "${sysroot} is not there: packaging/sysroot.sh ${MEMSCOPE_ARCH} ${sysroot}")
  endif()
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${processor})
  set(CMAKE_LIBRARY_ARCHITECTURE ${processor}-linux-gnu)
  set(CMAKE_FIND_ROOT_PATH "${sysroot}" /usr/${CMAKE_LIBRARY_ARCHITECTURE})  # libraries, and the C library of the compiler
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  # The directory in which the linker finds the dependencies of the libraries.
  add_link_options(-Wl,-rpath-link,${sysroot}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  # To list the tests, CMake runs the test program. With PRE_TEST it does so at the start of ctest and not after the
  # build, because the build machine cannot run the program.
  set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)
  set(ENV{PKG_CONFIG_LIBDIR} "${sysroot}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${sysroot}/usr/share/pkgconfig")
  set(ENV{PKG_CONFIG_SYSROOT_DIR} "${sysroot}")
endif()
