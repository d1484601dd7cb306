# sadam_needs_gpu(TEST...)
#
# Tests that need a GPU, and say so in one sentence where there is none. One at a time: some take all of its memory.
function(sadam_needs_gpu)
  set_tests_properties(${ARGN} PROPERTIES LABELS gpu RESOURCE_LOCK gpu SKIP_REGULAR_EXPRESSION "there is no GPU here")
endfunction()

# sadam_add_test(NAME [PLAIN] SOURCES file... [PROPERTIES file...] [ROOMS target...])
#
# Tests of a room in the program NAME: several rooms may share one, since reading libtorch's headers and loading it take
# longer than most tests. It is linked to sadam (or to the given rooms alone) and GoogleTest, and free to include private
# headers. PLAIN ones do without libtorch. PROPERTIES are sources that need RapidCheck, left out where there is none.
# ctest sees one test per program; the program's own --gtest_filter picks single ones.
function(sadam_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN" "" "SOURCES;PROPERTIES;ROOMS")
  if(NOT arg_ROOMS)
    set(arg_ROOMS sadam::sadam)
  endif()
  if(SADAM_HAVE_RAPIDCHECK AND arg_PROPERTIES)
    list(APPEND arg_SOURCES ${arg_PROPERTIES})
    list(APPEND arg_ROOMS rapidcheck)
  endif()
  if(NOT TARGET ${name})
    add_executable(${name})
    target_link_libraries(${name} PRIVATE $<IF:$<BOOL:${arg_PLAIN}>,GTest::gtest_main,sadam_test_main> GTest::gtest)
    if(NOT SADAM_UNITY AND NOT arg_PLAIN)
      target_precompile_headers(${name} REUSE_FROM sadam_test_main)
    endif()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  endif()
  sadam_sources(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_ROOMS})
endfunction()
