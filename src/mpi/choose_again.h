// What `pmio run` and a runtime library that it has preloaded leave for each other in the environment.
//
// `pmio run` chooses by what it starts. Where that is a shell, the program's MPI shows only when the program
// starts: where the runtime library then is for another family, it hands the process to `pmio run --again`,
// which chooses by the program and becomes it anew (choose_again.cpp).
#pragma once

namespace pmio {

// The pmio command's file.
inline constexpr char kRunCommand[] = "PMIO_RUN_COMMAND";
// The process that was chosen again for, by its id, so that this happens once.
inline constexpr char kChosenAgain[] = "PMIO_RUN_AGAIN";

}  // namespace pmio
