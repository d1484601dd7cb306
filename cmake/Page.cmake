# The page of `sadam report` and `sadam serve`, from web/: npm's packages are fetched when a build is configured, so that
# it is known whether there can be a page at all. Sets SADAM_HAVE_PAGE.
set(SADAM_HAVE_PAGE OFF)
set(SADAM_WEB ${PROJECT_SOURCE_DIR}/web)
find_program(SADAM_NODE NAMES node nodejs)
find_program(SADAM_NPM npm)

function(sadam_find_page because)
  if(NOT SADAM_NODE OR NOT SADAM_NPM)
    set(${because} "Node.js or npm was not found" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${SADAM_NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REPLACE "v" "" version "${version}")
  if(version VERSION_LESS 18)
    set(${because} "Node.js is older than 18" PARENT_SCOPE)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SADAM_WEB}/package-lock.json)
  # npm writes the second one when it is done.
  if(${SADAM_WEB}/package-lock.json IS_NEWER_THAN ${SADAM_WEB}/node_modules/.package-lock.json)
    execute_process(
      COMMAND ${SADAM_NPM} ci --prefer-offline --no-audit --no-fund --loglevel=error --fetch-retry-mintimeout=1000
              --fetch-retry-maxtimeout=5000 --fetch-timeout=60000
      WORKING_DIRECTORY ${SADAM_WEB}
      RESULT_VARIABLE failed
      OUTPUT_FILE ${PROJECT_BINARY_DIR}/npm.log
      ERROR_FILE ${PROJECT_BINARY_DIR}/npm.log
      TIMEOUT 300)
    if(failed)
      set(${because} "npm could not get its packages" PARENT_SCOPE)
      return()
    endif()
    file(TOUCH ${SADAM_WEB}/node_modules/.package-lock.json)
  endif()
  set(${because} "" PARENT_SCOPE)
endfunction()

if(EXISTS ${SADAM_WEB}/package-lock.json)
  sadam_find_page(sadam_no_page_because)
else()
  set(sadam_no_page_because "web/ has no package-lock.json")
endif()
if(sadam_no_page_because)
  message(NOTICE "sadam: ${sadam_no_page_because}, so `sadam report` and `sadam serve` have no page to show.")
else()
  set(SADAM_HAVE_PAGE ON)
endif()

# sadam_page_source(FILE)
#
# Makes the C++ source FILE, which holds the page, or none where it cannot be built.
function(sadam_page_source file)
  if(NOT SADAM_HAVE_PAGE)
    file(CONFIGURE OUTPUT ${file} CONTENT "#include \"page/page.h\"\nstd::string_view sadam::page::built_in_page() { return {}; }\n")
    return()
  endif()
  set(html ${CMAKE_CURRENT_BINARY_DIR}/html/index.html)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${SADAM_WEB}/src/* ${SADAM_WEB}/public/*)
  file(GLOB settings CONFIGURE_DEPENDS ${SADAM_WEB}/*.json ${SADAM_WEB}/*.html ${SADAM_WEB}/*.mjs ${SADAM_WEB}/*.ts)
  cmake_path(GET html PARENT_PATH folder)
  add_custom_command(
    OUTPUT ${html}
    COMMAND ${SADAM_NPM} run --silent build -- --logLevel warn --outDir ${folder} --emptyOutDir
    WORKING_DIRECTORY ${SADAM_WEB}
    DEPENDS ${sources} ${settings}
    COMMENT "Building the page"
    VERBATIM)
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -D HTML=${html} -D SOURCE=${file} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
    DEPENDS ${html} ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
    VERBATIM)
endfunction()
