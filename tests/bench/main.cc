// isocenter-bench: prints how fast this machine reconstructs.
#include "client/flags/command.h"
#include "tests/bench/commands.h"

int main(int argc, char** argv) {
  isocenter::flags::Program program(
      "isocenter-bench", ISOCENTER_VERSION,
      "Measures Isocenter's kernels on this machine, and servers under load.\n");
  isocenter::bench::AddCommands(program.root());
  program.root().Footer(
      "Example:\n"
      "  isocenter-bench fdk --size 256 --repeats 3\n"
      "Exit codes: 0 done, 2 wrong usage, 4 a file is not there, 6 no service answers, 1 failed "
      "else.");
  program.AddCompletion();
  return program.Run(argc, argv);
}
