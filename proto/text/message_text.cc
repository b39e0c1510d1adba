#include "proto/text/message_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "proto/text/text_mistakes.h"
#include "proto/text/utf8_fields.h"

namespace isocenter::text {
namespace {

/// Where the library's parser gave up. Its words are for those who know its types.
class Silent : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string&) override {
    if (!first_) first_ = {line + 1, column + 1};
  }
  /// "LINE:COLUMN" of the first mistake.
  std::string Place() const {
    return first_ ? absl::StrCat(first_->first, ":", first_->second) : "1:1";
  }

 private:
  std::optional<std::pair<int, int>> first_;
};

/// A line for each mistake. A text of 16 MiB may have a million.
std::string JoinMistakes(std::vector<std::string> mistakes) {
  constexpr size_t kMostShown = 20;
  const size_t more = mistakes.size() - std::min(mistakes.size(), kMostShown);
  if (more > 0) {
    mistakes.resize(kMostShown);
    mistakes.push_back(absl::StrCat("and ", more, " more mistakes"));
  }
  return absl::StrJoin(mistakes, "\n");
}

}  // namespace

absl::Status ParseMessage(absl::string_view text, absl::string_view file, absl::string_view page,
                          google::protobuf::Message& message, const RangeOf& range_of) {
  Silent errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // editors of some systems write this mark
  const std::string whole(text);
  if (parser.ParseFromString(whole, &message)) {
    const std::string wrong = NotUtf8Field(message);
    if (wrong.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", wrong, "; legal is UTF-8 text: save the file in that encoding"));
  }
  std::vector<std::string> mistakes = TextMistakes(whole, file, *message.GetDescriptor(), range_of);
  if (mistakes.empty()) {
    mistakes.push_back(absl::StrCat(file, ":", errors.Place(),
                                    ": this cannot be read; legal is FIELD: VALUE or "
                                    "FIELD { ... }, as ",
                                    page, " lists them"));
  }
  return absl::InvalidArgumentError(JoinMistakes(std::move(mistakes)));
}

}  // namespace isocenter::text
