# Everything that is looked for, in one place. The library needs the first three; the rest switches parts on.
find_package(Torch REQUIRED)
find_package(hwy CONFIG REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

if(SADAM_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_path(SADAM_NLOHMANN_JSON nlohmann/json.hpp REQUIRED)
  # Properties over random inputs. Tests that need it ask `if(SADAM_HAVE_RAPIDCHECK)` and link `rapidcheck`.
  find_package(rapidcheck CONFIG QUIET)
  set(SADAM_HAVE_RAPIDCHECK ${rapidcheck_FOUND})
  if(NOT SADAM_HAVE_RAPIDCHECK)
    message(NOTICE "sadam: RapidCheck was not found, so the property tests are not built.")
  endif()
endif()

if(SADAM_BUILD_BENCH)
  find_package(benchmark CONFIG QUIET)
  if(NOT benchmark_FOUND)
    message(NOTICE "sadam: Google Benchmark was not found, so the benchmarks are not built.")
    set(SADAM_BUILD_BENCH OFF)
  endif()
endif()
