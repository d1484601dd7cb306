# How everything here is compiled, whatever it is.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# A static sadam can then be linked into somebody's shared library, a Python module for one.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# An installed shared sadam finds a libtorch that lies outside the system's folders.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
