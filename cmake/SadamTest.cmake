# sadam_needs_gpu(TEST...)
#
# Tests that need a GPU, and say so in one sentence where there is none. One at a time: some take all of its memory.
function(sadam_needs_gpu)
  set_tests_properties(${ARGN} PROPERTIES LABELS gpu RESOURCE_LOCK gpu SKIP_REGULAR_EXPRESSION "there is no GPU here")
endfunction()

# sadam_add_test(NAME SOURCES file... [PROPERTIES file...] [ROOMS target...])
#
# A test program of a room that uses libtorch: linked to sadam (or to the given rooms alone) and GoogleTest, free to include the library's private
# headers. PROPERTIES are sources that need RapidCheck, left out where there is none.
# ctest sees one test per program, because loading libtorch takes longer than most tests; the program's own
# --gtest_filter picks single ones.
function(sadam_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PROPERTIES;ROOMS")
  if(NOT arg_ROOMS)
    set(arg_ROOMS sadam::sadam)
  endif()
  if(SADAM_HAVE_RAPIDCHECK AND arg_PROPERTIES)
    list(APPEND arg_SOURCES ${arg_PROPERTIES})
    set(rapidcheck rapidcheck)
  endif()
  add_executable(${name})
  sadam_sources(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sadam_test_main ${arg_ROOMS} GTest::gtest ${rapidcheck})
  if(NOT SADAM_UNITY)
    target_precompile_headers(${name} REUSE_FROM sadam_test_main)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
endfunction()
