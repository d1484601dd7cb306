# cmake -D HTML=index.html -D SOURCE=built_in_page.cpp -P EmbedPage.cmake
file(READ ${HTML} text)
file(WRITE ${SOURCE} "// Made from web/.
#include \"page/page.h\"

std::string_view sadam::page::built_in_page() {
  return R\"sadam_page(${text})sadam_page\";
}
")
