// The engine behind `sadam` (main.cpp), with all that needs libtorch.
#include <iostream>
#include <string_view>

#include "cli/command.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help-texts") {
    sadam::cli::write_help_texts(std::cout);
    return std::cout.flush() ? 0 : 1;
  }
  return sadam::cli::run(argc, argv);
}
