# `cmake --install`: headers, library, and the package that find_package(sadam CONFIG) reads.
include(CMakePackageConfigHelpers)

set(sadam_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sadam)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sadam DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS sadam EXPORT sadamTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sadamTargets NAMESPACE sadam:: DESTINATION ${sadam_package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sadamConfig.cmake.in ${PROJECT_BINARY_DIR}/sadamConfig.cmake
                              INSTALL_DESTINATION ${sadam_package_dir})
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sadamConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sadamConfig.cmake ${PROJECT_BINARY_DIR}/sadamConfigVersion.cmake
        DESTINATION ${sadam_package_dir})
