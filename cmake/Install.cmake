# Install rules, the CMake package softcon and the pkg-config file.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/softcon)

install(TARGETS softcon EXPORT softconTargets)
install(FILES src/softcon.h src/softcon_rows.h src/softcon_cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT softconTargets NAMESPACE softcon:: DESTINATION ${package_dir})

# In an export of its own, so that softcon alone does not ask its users for MuJoCo.
if(TARGET softcon_mujoco)
  install(TARGETS softcon_mujoco EXPORT softconMujocoTargets)
  install(FILES src/softcon_mujoco.h src/softcon_inspect.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT softconMujocoTargets NAMESPACE softcon:: DESTINATION ${package_dir})
endif()
if(TARGET softcon_cli)
  install(TARGETS softcon_cli)
endif()

configure_package_config_file(cmake/softconConfig.cmake.in softconConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(softconConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/softconConfig.cmake ${PROJECT_BINARY_DIR}/softconConfigVersion.cmake DESTINATION ${package_dir})

# relative, so that the installed tree can be moved
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/softcon.pc.in softcon.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/softcon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
