// What is wrong with a file in protobuf's text format, in our words. The library's parser stops at
// the first mistake, and tells of its message types.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class Descriptor;
}

namespace isocenter::text {

/// "1 to 10" of the dotted path of a numeric field without indices; empty: not known.
using RangeOf = std::function<std::string(const std::string& path)>;

/// One line for each mistake, "FILE:LINE:COLUMN: ...", with the field or value that a typo meant:
/// of a text that protobuf has refused as a message of this type. It judges names, values, blocks
/// and repetitions as protobuf does; empty where it finds nothing. At most 32 blocks deep.
/// `range_of` is asked of the first of many.
std::vector<std::string> TextMistakes(const std::string& text, absl::string_view file,
                                      const google::protobuf::Descriptor& type,
                                      const RangeOf& range_of = nullptr);

}  // namespace isocenter::text
