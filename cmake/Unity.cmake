# sadam_sources(TARGET [APART] file...)
#
# Adds sources to a target, from one folder or several. With SADAM_UNITY all of them are compiled as one file: nearly all
# the time goes into reading libtorch's headers, and so they are read once. APART: as a second file, for what is compiled
# on some machines only. (CMake's own UNITY_BUILD writes absolute paths into that file, which keeps ccache from serving
# another clone.) Without it, as in the debug preset, a change compiles one file.
option(SADAM_UNITY "Compile the sources of a room as one file" OFF)

function(sadam_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART" "" "")
  set(unit ${target})
  if(arg_APART)
    set(unit ${target}_apart)
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source)
    if(NOT SADAM_UNITY)
      target_sources(${target} PRIVATE ${source})
      continue()
    endif()
    get_property(is_begun TARGET ${target} PROPERTY text_of_${unit} SET)
    if(NOT is_begun)
      set(file ${CMAKE_CURRENT_BINARY_DIR}/${unit}.cpp)
      file(GENERATE OUTPUT ${file} CONTENT "// Made by cmake/Unity.cmake.\n$<TARGET_PROPERTY:${target},text_of_${unit}>")
      target_sources(${target} PRIVATE ${file})
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_property(TARGET ${target} APPEND_STRING PROPERTY text_of_${unit} "#include \"${source}\"\n")
  endforeach()
endfunction()
