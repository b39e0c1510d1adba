// Messages whose texts are not UTF-8: protobuf's text format takes any bytes, and its wire format
// refuses them later, without a word of where they are.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace isocenter::text {

/// "dicom_node.peer.ae_title is 'M\xfc', which is not UTF-8: byte 0xFC at offset 1" of the first
/// such text, by the dotted path of its field; empty: there is none.
std::string NotUtf8Field(const google::protobuf::Message& message);

}  // namespace isocenter::text
