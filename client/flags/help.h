// What `--help` prints of a command: the library's own would tell of its classes and types.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}  // namespace CLI

namespace isocenter::flags {

/// A flag, then what it is for, then in brackets what is legal, what holds without it and what else
/// gives it, in lines that a terminal of 100 columns shows whole.
std::shared_ptr<CLI::FormatterBase> HelpFormat();

}  // namespace isocenter::flags
