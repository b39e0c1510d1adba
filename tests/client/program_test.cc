// A program's actions: what becomes of their errors.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "client/flags/command.h"

namespace isocenter::flags {
namespace {

int ExitCodeOf(Action action) {
  Program program("it", "1", "does");
  program.root().Subcommand("work", "works").Does(std::move(action));
  char name[] = "it", command[] = "work";
  char* argv[] = {name, command, nullptr};
  return program.Run(2, argv);
}

TEST(Program, ReturnsTheExitCode) {
  EXPECT_EQ(ExitCodeOf([] { return absl::OkStatus(); }), 0);
  EXPECT_EQ(ExitCodeOf([] { return absl::InternalError("no"); }), 1);
  EXPECT_EQ(ExitCodeOf([] { return absl::NotFoundError("no"); }), 4);
}

TEST(Program, WithoutMemoryThereIsASentence) {
  EXPECT_EXIT(std::exit(ExitCodeOf([]() -> absl::Status { throw std::bad_alloc(); })),
              testing::ExitedWithCode(1), "^it: out of memory: ");
  EXPECT_EXIT(std::exit(ExitCodeOf([]() -> absl::Status { throw std::length_error("size"); })),
              testing::ExitedWithCode(1), "^it: out of memory: ");
}

// Where nobody can catch it.
TEST(Program, NorIsAThreadsAnAbort) {
  const auto in_a_thread = [] {
    std::thread([] { throw std::bad_alloc(); }).join();
    return absl::OkStatus();
  };
  EXPECT_EXIT(std::exit(ExitCodeOf(in_a_thread)), testing::ExitedWithCode(1), "out of memory: ");
}

}  // namespace
}  // namespace isocenter::flags
