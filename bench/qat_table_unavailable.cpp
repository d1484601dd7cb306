#include <iostream>

#include "tables.h"

namespace sadam::bench {

void qat_table(Report& /*report*/, const Settings& /*settings*/) {
  std::cout << "\nThe table 'qat' is left out: it needs what the program sadam is made of, and that is not "
               "built.\n";
}

}  // namespace sadam::bench
