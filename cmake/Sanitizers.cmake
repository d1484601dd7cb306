# The kernels once more under the address and undefined-behaviour sanitizers. They alone handle raw memory, so they alone
# are compiled anew: the objects of the tests and of the engine are used again. Readers of files have their sanitizers in
# the fuzzers.
set(sadam_sanitizers -fsanitize=address,undefined)

# sadam_sanitize(KERNELS)
#
# Makes KERNELS_sanitized of an object library of the folder that this is called from. Its loops over vectors are the same
# text for every instruction set, so the plain one and AVX2 will do, and tests of others are left out.
function(sadam_sanitize kernels)
  get_target_property(sources ${kernels} SOURCES)
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  add_library(${kernels}_sanitized OBJECT EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${kernels}_sanitized PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  target_compile_options(${kernels}_sanitized PRIVATE ${sadam_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer
                                                      -O1 -g1 -ffp-contract=off)
  target_compile_definitions(${kernels}_sanitized PRIVATE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
  target_link_libraries(${kernels}_sanitized PRIVATE hwy::hwy OpenMP::OpenMP_CXX)
endfunction()

# sadam_sanitized_test(TEST KERNELS)
#
# The test TEST as TEST_sanitized, with KERNELS_sanitized in the place of KERNELS; without tests of other instruction sets
# and without closed forms, which take many steps and touch no other memory than the rest.
function(sadam_sanitized_test test kernels)
  if(SADAM_HAVE_CUDA)
    return() # the address sanitizer and the CUDA driver want the same addresses
  endif()
  get_target_property(libraries ${test} LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^${kernels}$" "${kernels}_sanitized")
  add_executable(${test}_sanitized $<TARGET_OBJECTS:${test}>)
  set_target_properties(${test}_sanitized PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${test}_sanitized PRIVATE ${libraries})
  target_link_options(${test}_sanitized PRIVATE ${sadam_sanitizers})
  add_test(NAME ${test}_sanitized COMMAND ${test}_sanitized --gtest_brief=1)
  set_tests_properties(${test}_sanitized PROPERTIES ENVIRONMENT
                                               "ASAN_OPTIONS=strict_init_order=1;UBSAN_OPTIONS=print_stacktrace=1;GTEST_FILTER=-DirectionAcrossTargets.*:*/SSE4:*/AVX3:ClosedForm.*")
endfunction()
