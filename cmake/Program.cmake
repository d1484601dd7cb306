# What the readers, the writers and the program `sadam` need beyond the library. All of it is header-only or optional,
# but for libjpeg and zlib, so that it can come from a prefix where nothing can be installed.
add_library(sadam_headers INTERFACE)
foreach(header nlohmann/json.hpp toml++/toml.h CLI/CLI.hpp fmt/format.h)
  string(MAKE_C_IDENTIFIER ${header} name)
  find_path(SADAM_INCLUDE_${name} ${header})
  if(SADAM_INCLUDE_${name})
    target_include_directories(sadam_headers SYSTEM INTERFACE ${SADAM_INCLUDE_${name}})
  else()
    list(APPEND sadam_missing ${header})
  endif()
endforeach()
target_compile_definitions(sadam_headers INTERFACE FMT_HEADER_ONLY TOML_HEADER_ONLY=1)
find_package(JPEG QUIET)
if(NOT JPEG_FOUND)
  list(APPEND sadam_missing libjpeg)
endif()
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  list(APPEND sadam_missing zlib)
endif()
find_package(PNG QUIET) # without it, folders of images hold JPEG files alone
find_package(Threads REQUIRED)

# Downloading needs all three; without them `sadam data fetch` says so. libarchive reads .pth files too.
find_package(CURL 7.85 QUIET) # its header API, and protocols by name
find_package(LibArchive QUIET)
find_package(OpenSSL QUIET COMPONENTS Crypto)
set(SADAM_HAVE_FETCH OFF)
if(CURL_FOUND AND LibArchive_FOUND AND OPENSSL_FOUND)
  set(SADAM_HAVE_FETCH ON)
endif()

# Pictures as PNG and PDF; SVG needs nothing.
find_package(PkgConfig QUIET)
set(SADAM_HAVE_RSVG OFF)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(SADAM_RSVG QUIET IMPORTED_TARGET librsvg-2.0 cairo-pdf)
  set(SADAM_HAVE_RSVG ${SADAM_RSVG_FOUND})
endif()
