# sadam_sources(TARGET file...)
#
# Adds sources to a target. With SADAM_UNITY they are compiled as one file: nearly all the time goes into reading
# libtorch's headers, and so they are read once. (CMake's own UNITY_BUILD writes absolute paths into that file, which
# keeps ccache from serving another clone.) Without it, as in the debug preset, a change compiles one file.
option(SADAM_UNITY "Compile the sources of a room as one file" OFF)

function(sadam_sources target)
  if(NOT SADAM_UNITY)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  set(text "// Made by cmake/Unity.cmake.\n")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  list(GET ARGN 0 first)
  cmake_path(GET first STEM first)
  set(unity ${CMAKE_CURRENT_BINARY_DIR}/${target}_${first}_and_others.cpp)
  file(CONFIGURE OUTPUT ${unity} CONTENT "${text}")
  target_sources(${target} PRIVATE ${unity})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()
