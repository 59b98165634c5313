# Makes three packages from one installed tree: tarball, .deb and .rpm. They need no shared library except the C library.
set(CPACK_GENERATOR TGZ DEB RPM)
set(CPACK_PACKAGE_NAME memscope)
set(CPACK_PACKAGE_CONTACT "memscope maintainers <memscope@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "memory watcher for training jobs")
set(CPACK_PACKAGE_DESCRIPTION
  "Shows which process of a training job uses memory, by role and by kind, and how much is left below the limit that can
kill it. Watches cgroups with BPF programs; changes and restarts nothing.")
set(CPACK_PACKAGE_VENDOR memscope)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build/packages")
set(CPACK_PACKAGE_FILE_NAME memscope-${PROJECT_VERSION}-linux-${MEMSCOPE_ARCH})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS  # independent of the umask of the build
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(scripts "${CMAKE_CURRENT_SOURCE_DIR}/scripts")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${MEMSCOPE_ARCH})
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), passwd")
# dpkg requires these names.
foreach(name postinst=after-install prerm=before-removal postrm=after-removal)
  string(REPLACE "=" ";" pair ${name})
  list(GET pair 0 debian)
  list(GET pair 1 ours)
  configure_file("${scripts}/${ours}.sh" "${CMAKE_CURRENT_BINARY_DIR}/debian/${debian}" COPYONLY)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_BINARY_DIR}/debian/${debian}")
endforeach()

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
# The licences of memscope and of the shipped and linked libraries.
string(JOIN " AND " CPACK_RPM_PACKAGE_LICENSE Apache-2.0 BSD-2-Clause BSD-3-Clause LGPL-2.1-or-later LGPL-3.0-or-later MIT
  Zlib "GPL-3.0-or-later WITH GCC-exception-3.1")
set(CPACK_RPM_PACKAGE_REQUIRES "libc.so.6(GLIBC_2.36)(64bit)")
set(CPACK_RPM_PACKAGE_REQUIRES_POST "/usr/sbin/groupadd, /usr/sbin/useradd")
# The shipped libraries are neither requirements nor offered to other packages. Tools of the build machine must not change
# the files, because these may be for another architecture.
set(CPACK_RPM_PACKAGE_AUTOREQPROV no)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}\n%define _build_id_links none\n%define debug_package %{nil}")
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE "${scripts}/after-install.sh")
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE "${scripts}/before-removal.sh")
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE "${scripts}/after-removal.sh")
# These belong to the system.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/lib/systemd /usr/lib/systemd/system /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh
  /usr/share/zsh/site-functions /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/man /usr/share/man/man1)
include(CPack)
