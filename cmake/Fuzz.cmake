# What SADAM_FUZZ builds instead of everything else: the readers of outside bytes, which need no libtorch, under
# libFuzzer and the sanitizers. Where the compiler has no libFuzzer, one line says so and nothing is built.
include(CheckCXXSourceCompiles)

set(SADAM_FUZZ_SECONDS 5 CACHE STRING "How long each fuzzer runs")

set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer,address,undefined)
check_cxx_source_compiles(
  "#include <cstddef>
   #include <cstdint>
   extern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }"
  SADAM_HAVE_LIBFUZZER)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT SADAM_HAVE_LIBFUZZER)
  message(NOTICE "sadam: ${CMAKE_CXX_COMPILER} has no libFuzzer (it comes with clang), so nothing is fuzzed.")
  return()
endif()

include(Program)
if(sadam_missing)
  message(NOTICE "sadam: nothing is fuzzed, because these were not found: ${sadam_missing}.")
  return()
endif()

# The macro is the customary one: checksums are then not checked.
add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_compile_definitions(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
add_link_options(-fsanitize=address,undefined)
include_directories(${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)

# sadam_add_fuzzer(NAME [DICTIONARY file] [LIBRARIES target...])
#
# NAME.cpp with its LLVMFuzzerTestOneInput, and a test that runs it for SADAM_FUZZ_SECONDS on the corpus NAME.
function(sadam_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DICTIONARY" "LIBRARIES")
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(arg_DICTIONARY)
    set(dictionary -dict=${CMAKE_CURRENT_SOURCE_DIR}/${arg_DICTIONARY})
  endif()
  add_test(NAME ${name}
           COMMAND ${name} -max_total_time=${SADAM_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=256
                   -max_len=16384
                   -print_final_stats=1 -artifact_prefix=${PROJECT_BINARY_DIR}/${name}- ${dictionary} ${corpora}/${name})
  math(EXPR patience "${SADAM_FUZZ_SECONDS} + 300")
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED seeds TIMEOUT ${patience})
endfunction()

enable_testing()
foreach(room base data nn/weights train/recipe train/record)
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${room}/CMakeLists.txt)
    add_subdirectory(src/${room})
  endif()
endforeach()
add_subdirectory(tests/fuzz)
