// Flags whose values are a list: what is legal, and what a typo meant.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
class Validator;
}  // namespace CLI

namespace isocenter::flags {

/// Refuses what is not in the list, naming the nearest and all.
CLI::Validator ChoiceOf(const std::vector<std::string>& legal);

/// The list of such a flag; empty of all others.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

/// Words that a flag's value may be besides others, as its type has them: "a" and "b" of
/// "a|b|FILE".
std::vector<std::string> WordsOf(const CLI::Option& option);

/// "a, b or c".
std::string Either(const std::vector<std::string>& names);

/// "; legal is a, b or c"; nothing of an empty list.
std::string LegalText(const std::vector<std::string>& legal);

}  // namespace isocenter::flags
