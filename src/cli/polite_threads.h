// Threads that wait without holding a core.
#pragma once

namespace sadam::cli {

/// GNU's OpenMP lets a thread that waits for work spin for a millisecond. Beside other work on the same cores
/// a training step, which is hundreds of short parallel loops, then takes many times as long: with two busy
/// loops beside it a run of two threads took 20 to 34 s, and 4.5 s with this shorter spin; alone it is about
/// 5 % slower. OpenMP reads its settings before `main`, so this starts the program once more with the setting
/// in place. It does nothing for subcommands that do not compute (a start takes half a second), if the user
/// has set OMP_WAIT_POLICY or GOMP_SPINCOUNT, or where a program cannot start itself again. `arguments` are
/// those of `main`.
void use_polite_threads(char** arguments);

}  // namespace sadam::cli
