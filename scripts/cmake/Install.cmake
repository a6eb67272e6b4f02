# SPDX-License-Identifier: Apache-2.0
# The reader and writer of captures as a library for other programs: one static library with what it needs of base and process,
# its headers below include/stackmap, which include each other from there, a CMake package and a pkg-config file. All of it is
# the component `capture`. examples/read_capture.cpp uses it; tests/cli/install_test.py builds that against an installed tree.
include(CMakePackageConfigHelpers)

add_library(stackmap_capture STATIC
  $<TARGET_OBJECTS:sm_base> $<TARGET_OBJECTS:sm_process> $<TARGET_OBJECTS:sm_capture>)
set_target_properties(stackmap_capture PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME capture)
target_compile_features(stackmap_capture INTERFACE cxx_std_20)
target_include_directories(stackmap_capture INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stackmap>)
target_link_libraries(stackmap_capture PRIVATE fmt::fmt PkgConfig::ZSTD)

install(TARGETS stackmap_capture EXPORT stackmap COMPONENT capture ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES src/capture/map_binary.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stackmap COMPONENT capture)
foreach(header base/clock.h base/fd.h base/file.h base/result.h capture/capture.h capture/event.h capture/ledger.h capture/losses.h
    capture/map_file.h process/host.h process/kernel_symbol.h process/task_table.h stackmap/cookie.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stackmap/${folder} COMPONENT capture)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/stackmap)
install(EXPORT stackmap NAMESPACE stackmap:: FILE stackmap-targets.cmake DESTINATION ${package} COMPONENT capture)
configure_package_config_file(scripts/cmake/stackmap-config.cmake.in ${CMAKE_BINARY_DIR}/stackmap-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stackmap-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stackmap-config.cmake ${CMAKE_BINARY_DIR}/stackmap-config-version.cmake
  DESTINATION ${package} COMPONENT capture)
# The prefix is known when it is installed: pkg-config works it out from where the file is.
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(scripts/cmake/stackmap_capture.pc.in ${CMAKE_BINARY_DIR}/stackmap_capture.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/stackmap_capture.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT capture)
