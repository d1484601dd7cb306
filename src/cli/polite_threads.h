// Threads that wait without holding a core.
#pragma once

namespace sadam::cli {

/// GNU's OpenMP lets a thread that waits for work spin for a millisecond. Beside other work on the same cores
/// a training step, which is hundreds of short parallel loops, then takes ten times as long; with a short
/// spin it does not, and alone it is no slower. OpenMP reads its settings before `main`, so this
/// starts the program once more with the setting in place. It does nothing for subcommands that do not
/// compute (a start takes half a second), if the user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT, or where a
/// program cannot start itself again. `arguments` are those of `main`.
void use_polite_threads(char** arguments);

}  // namespace sadam::cli
