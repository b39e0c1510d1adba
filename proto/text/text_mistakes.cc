#include "proto/text/text_mistakes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/base/nearest.h"

namespace isocenter::text {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::Tokenizer;

constexpr int kDeepest = 32;
constexpr size_t kLongestShown = 80;

struct Told {
  int line, column;  // from 0
  std::string text;
  bool echo = false;  // most likely of a mistake before it on the line
  bool last = false;  // what comes after it is read wrongly
};

/// Texts without an end and characters that are none; the tokenizer goes on behind them.
class BrokenTokens : public google::protobuf::io::ErrorCollector {
 public:
  explicit BrokenTokens(std::vector<Told>& mistakes) : mistakes_(mistakes) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string&) override {
    mistakes_.push_back({line, static_cast<int>(column),
                         "this cannot be read; legal is text in quotes that end on the same line, "
                         "numbers, names, and # before comments",
                         /*echo=*/true});
  }

 private:
  std::vector<Told>& mistakes_;
};

std::string PathOf(const std::string& parent, absl::string_view name) {
  return parent.empty() ? std::string(name) : absl::StrCat(parent, ".", name);
}

std::vector<std::string> NamesOf(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return names;
}

std::vector<std::string> FieldsOf(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

/// Where a field of this name is, below a message; empty where it is nowhere.
std::string PlaceOf(const Descriptor& type, const std::string& name, const std::string& path,
                    int depth) {
  if (depth > 3) return "";
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string below = PathOf(path, field.name());
    if (field.message_type()->FindFieldByName(name) != nullptr) return PathOf(below, name);
    if (std::string deeper = PlaceOf(*field.message_type(), name, below, depth + 1);
        !deeper.empty()) {
      return deeper;
    }
  }
  return "";
}

/// `range` of numbers; empty: what their type can hold.
std::string LegalOf(const FieldDescriptor& field, const std::string& range) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of ", absl::StrJoin(NamesOf(*field.enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_STRING:
      return "a text in quotes";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return range.empty() ? "a number" : absl::StrCat("a number from ", range);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StrCat("a block: ", field.name(), " { ... }");
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat("a whole number from ", range.empty() ? "0 to 4294967295" : range);
    case FieldDescriptor::CPPTYPE_UINT64:
      if (absl::EndsWith(field.name(), "bytes")) {
        return absl::StrCat("a number of bytes", range.empty() ? "" : absl::StrCat(" from ", range),
                            ", without quotes or a unit, e.g. 17179869184 for 16 GiB");
      }
      return absl::StrCat("a whole number from ",
                          range.empty() ? "0 to 18446744073709551615" : range);
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat("a whole number from ",
                          range.empty() ? "-2147483648 to 2147483647" : range);
    default:
      return "a whole number";
  }
}

bool IsNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
    default:
      return true;
  }
}

/// Whether a word stands where a number is asked for: its range says nothing of that mistake.
bool IsWordForNumber(const FieldDescriptor& field, absl::string_view shown) {
  return IsNumber(field) && !shown.empty() && absl::ascii_isalpha(shown[0]);
}

/// The largest magnitude of a whole number with this sign.
uint64_t LargestOf(const FieldDescriptor& field, bool negative) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return negative ? 0 : std::numeric_limits<uint32_t>::max();
    case FieldDescriptor::CPPTYPE_UINT64:
      return negative ? 0 : std::numeric_limits<uint64_t>::max();
    case FieldDescriptor::CPPTYPE_INT64:
      return (uint64_t{1} << 63) - (negative ? 0 : 1);
    default:
      return (uint64_t{1} << 31) - (negative ? 0 : 1);
  }
}

/// What is meant by a name without what all names of the list begin with, or in quotes.
std::string DidYouMeanOneOf(absl::string_view word, const std::vector<std::string>& names) {
  if (std::string meant = DidYouMean(word, names); !meant.empty() || names.empty()) return meant;
  absl::ConsumePrefix(&word, "\"");
  absl::ConsumeSuffix(&word, "\"");
  std::string common = names.front();
  for (const std::string& name : names) {
    while (!absl::StartsWith(name, common)) common.pop_back();
  }
  return DidYouMean(absl::StrCat(common, word), names);
}

class Walker {
 public:
  Walker(const std::string& text, const RangeOf& range_of, std::vector<Told>& mistakes)
      : range_of_(range_of),
        lines_(absl::StrSplit(text, '\n')),
        mistakes_(mistakes),
        broken_(mistakes),
        stream_(text.data(), static_cast<int>(text.size())),
        tokens_(&stream_, &broken_) {
    tokens_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokens_.set_allow_f_after_float(true);
    tokens_.set_require_space_after_number(false);
    tokens_.set_allow_multiline_strings(true);
    tokens_.Next();
  }

  void WalkFile(const Descriptor& type) {
    while (!AtEnd()) {
      Block(type, "", 0);
      if (AtEnd()) return;
      Mistake(Here(), "a } too many");
      tokens_.Next();
    }
  }

 private:
  struct Place {
    int line, column;
  };
  /// The fields of a block that are there, each once.
  struct Seen {
    std::set<std::string> fields;
    std::set<std::string> choices;  // oneofs
  };

  bool AtEnd() { return tokens_.current().type == Tokenizer::TYPE_END; }
  bool At(absl::string_view symbol) { return tokens_.current().text == symbol; }
  bool Take(absl::string_view symbol) {
    if (!At(symbol)) return false;
    tokens_.Next();
    return true;
  }
  Place Here() { return {tokens_.current().line, tokens_.current().column}; }
  void Mistake(Place at, std::string what, bool echo = false) {
    mistakes_.push_back({at.line, at.column, std::move(what), echo});
  }
  /// All that is written without a blank from there on, where that begins as `token` does: of what
  /// should stand in quotes, the tokenizer sees parts.
  std::string Written(Place at, const std::string& token) const {
    const absl::string_view rest = absl::ClippedSubstr(lines_[at.line], at.column);
    const absl::string_view word = rest.substr(0, rest.find_first_of(" \t\r;,{}<>[]#\""));
    return absl::StartsWith(word, token) ? std::string(word) : token;
  }

  /// Fields until the end of the block, whose closing sign is left.
  void Block(const Descriptor& type, const std::string& path, int depth) {
    Seen seen;
    while (!AtEnd() && !At("}") && !At(">")) {
      if (tokens_.current().type != Tokenizer::TYPE_IDENTIFIER) {
        Mistake(Here(),
                absl::StrCat("'", Shown(tokens_.current().text),
                             "' where the name of a field is expected; legal is FIELD: VALUE or "
                             "FIELD { ... }"),
                /*echo=*/true);
        tokens_.Next();
        continue;
      }
      Field(type, path, depth, seen);
      if (!Take(";")) Take(",");
    }
  }

  void Field(const Descriptor& type, const std::string& path, int depth, Seen& seen) {
    const Place at = Here();
    const std::string name = tokens_.current().text;
    tokens_.Next();
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr) {
      Mistake(at, UnknownField(type, path, name));
      SkipValue(depth);
      return;
    }
    const std::string own_path = PathOf(path, name);
    if (!field->is_repeated() && !seen.fields.insert(name).second) {
      Mistake(at, absl::StrCat(own_path, " is written twice; legal is once"));
    } else if (const auto* choice = field->real_containing_oneof();
               choice != nullptr && !seen.choices.insert(choice->name()).second) {
      Mistake(at, absl::StrCat(own_path,
                               " is written beside another field of which only one is legal"));
    }
    const bool colon = Take(":");
    if (field->is_repeated() && Take("[")) {
      while (!AtEnd() && !At("]")) {
        Value(*field, own_path, depth);
        if (!Take(",")) break;
      }
      if (!Take("]")) Mistake(Here(), absl::StrCat("the list of ", own_path, " lacks its ]"));
      return;
    }
    if (!colon && !At("{") && !At("<")) {
      Mistake(Here(), absl::StrCat(own_path, " lacks its ", LegalSeparator(*field)));
      Take("=");
    }
    Value(*field, own_path, depth);
  }

  static std::string LegalSeparator(const FieldDescriptor& field) {
    const bool block = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    return block ? absl::StrCat("block; legal is ", field.name(), " { ... }")
                 : absl::StrCat("colon; legal is ", field.name(), ": VALUE");
  }

  std::string UnknownField(const Descriptor& type, const std::string& path,
                           const std::string& name) {
    std::string text = path.empty() ? absl::StrCat("there is no field '", Shown(name), "'")
                                    : absl::StrCat(path, " has no field '", Shown(name), "'");
    std::string nearest = DidYouMean(name, FieldsOf(type));
    if (nearest.empty()) {
      std::string elsewhere = OfItsType(type, name);
      if (elsewhere.empty()) elsewhere = Beside(path, name);
      if (elsewhere.empty()) elsewhere = PlaceOf(type, name, path, 0);
      if (!elsewhere.empty()) nearest = absl::StrCat("; did you mean ", elsewhere, "?");
    }
    return text + nearest;
  }

  /// The only field whose values are of an enumeration of this name: "sync" of 'sync_policy'.
  static std::string OfItsType(const Descriptor& type, const std::string& name) {
    std::string meant;
    for (int i = 0; i < type.field_count(); ++i) {
      const google::protobuf::EnumDescriptor* values = type.field(i)->enum_type();
      if (values == nullptr) continue;
      if (absl::AsciiStrToLower(values->name()) != absl::StrReplaceAll(name, {{"_", ""}})) continue;
      if (!meant.empty()) return "";
      meant = type.field(i)->name();
    }
    return meant;
  }

  /// "a.tls_port" of a 'port' in the block a.tls; empty: there is none.
  std::string Beside(const std::string& path, const std::string& name) const {
    if (blocks_.empty()) return "";
    const FieldDescriptor& block = *blocks_.back();
    const std::string meant = absl::StrCat(block.name(), "_", name);
    if (block.containing_type()->FindFieldByName(meant) == nullptr) return "";
    return absl::StrCat(absl::StripSuffix(path, block.name()), meant);
  }

  void Value(const FieldDescriptor& field, const std::string& path, int depth) {
    const Place at = Here();
    const bool wants_block = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (At("{") || At("<")) {
      if (!wants_block) {
        Mistake(at,
                absl::StrCat(path, " is a block; legal is ", LegalOf(field, Range(field, path))));
        SkipValue(depth);
        return;
      }
      const std::string close = At("{") ? "}" : ">";
      if (depth >= kDeepest) {
        Mistake(at, absl::StrCat("more than ", kDeepest, " blocks in each other"));
        SkipValue(depth);
        return;
      }
      tokens_.Next();
      blocks_.push_back(&field);
      Block(*field.message_type(), path, depth + 1);
      blocks_.pop_back();
      if (!Take(close)) Mistake(at, absl::StrCat("the block of ", path, " lacks its ", close));
      return;
    }
    std::string shown;
    const bool legal = Scalar(field, shown);
    if (legal && !wants_block && !TakeUnit(field, at, shown)) return;
    std::string meant;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      meant = DidYouMeanOneOf(shown, NamesOf(*field.enum_type()));
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) shown = Written(at, shown);
    Mistake(at, absl::StrCat(path, " is ", shown.empty() ? "without a value" : Shown(shown),
                             IsWordForNumber(field, shown) ? ", which is no number" : "",
                             "; legal is ", LegalOf(field, Range(field, path)), meant));
  }

  /// What the reader of the message takes of a number, as far as it says.
  std::string Range(const FieldDescriptor& field, const std::string& path) {
    constexpr int kMostAsked = 20;  // no more mistakes are shown
    if (!range_of_ || !IsNumber(field) || ranges_asked_ == kMostAsked) return "";
    ++ranges_asked_;
    return range_of_(path);
  }

  /// Takes what is written behind a number without a blank, such as its unit, and adds it to
  /// `shown`.
  bool TakeUnit(const FieldDescriptor& field, Place at, std::string& shown) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return false;
    const Tokenizer::Token& next = tokens_.current();
    const bool adjoins = next.type == Tokenizer::TYPE_IDENTIFIER && next.line == at.line &&
                         next.column == at.column + static_cast<int>(shown.size());
    if (!adjoins) return false;
    shown += next.text;
    tokens_.Next();
    return true;
  }

  /// Takes one value that is no block, as it is written. Whether it is one of the field.
  bool Scalar(const FieldDescriptor& field, std::string& shown) {
    const bool negative = Take("-");
    const Tokenizer::Token token = tokens_.current();
    shown = absl::StrCat(negative ? "-" : "", token.text);
    if (AtEnd() || token.type == Tokenizer::TYPE_SYMBOL) {
      shown = negative ? "-" : "";
      return false;
    }
    tokens_.Next();
    if (token.type == Tokenizer::TYPE_STRING) {
      if (absl::StrContains(token.text, "\n")) {
        mistakes_.push_back({token.line, static_cast<int>(token.column),
                             "this text in quotes does not end on its line; legal is \"TEXT\"",
                             /*echo=*/false, /*last=*/true});
      }
      while (tokens_.current().type == Tokenizer::TYPE_STRING) tokens_.Next();
      return !negative && field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return false;
      case FieldDescriptor::CPPTYPE_BOOL:
        return !negative && IsBool(token.text);
      case FieldDescriptor::CPPTYPE_ENUM:
        return IsWhole(field, token, negative) ||
               (!negative && field.enum_type()->FindValueByName(token.text) != nullptr);
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return token.type != Tokenizer::TYPE_IDENTIFIER || IsUnusual(token.text);
      default:
        return IsWhole(field, token, negative);
    }
  }

  static bool IsBool(const std::string& text) {
    static const auto* const kLegal =
        new std::set<std::string>{"true", "True", "t", "1", "false", "False", "f", "0"};
    return kLegal->contains(text);
  }
  static bool IsUnusual(const std::string& text) {
    const std::string lower = absl::AsciiStrToLower(text);
    return lower == "inf" || lower == "infinity" || lower == "nan";
  }
  static bool IsWhole(const FieldDescriptor& field, const Tokenizer::Token& token, bool negative) {
    uint64_t value = 0;
    return token.type == Tokenizer::TYPE_INTEGER &&
           Tokenizer::ParseInteger(token.text, LargestOf(field, negative), &value);
  }

  /// The value of a field that is not known: up to what may begin the next one.
  void SkipValue(int depth) {
    Take(":");
    Take("-");
    if (At("{") || At("<") || At("[")) {
      int open = 0;
      do {
        if (At("{") || At("<") || At("[")) ++open;
        if (At("}") || At(">") || At("]")) --open;
        tokens_.Next();
      } while (open > 0 && !AtEnd());
      return;
    }
    if (AtEnd() || (depth > 0 && (At("}") || At(">")))) return;
    const bool text = tokens_.current().type == Tokenizer::TYPE_STRING;
    tokens_.Next();
    while (text && tokens_.current().type == Tokenizer::TYPE_STRING) tokens_.Next();
  }

  static std::string Shown(const std::string& text) {
    return text.size() <= kLongestShown ? text : absl::StrCat(text.substr(0, kLongestShown), "...");
  }

  const RangeOf& range_of_;  // may be null
  int ranges_asked_ = 0;
  std::vector<const FieldDescriptor*> blocks_;  // that are open, the innermost last
  const std::vector<absl::string_view> lines_;
  std::vector<Told>& mistakes_;
  BrokenTokens broken_;
  ArrayInputStream stream_;
  Tokenizer tokens_;
};

}  // namespace

std::vector<std::string> TextMistakes(const std::string& text, absl::string_view file,
                                      const Descriptor& type, const RangeOf& range_of) {
  std::vector<Told> told;
  Walker(text, range_of, told).WalkFile(type);
  std::ranges::stable_sort(told, {},
                           [](const Told& one) { return std::pair(one.line, one.column); });
  std::vector<std::string> mistakes;
  int line = -1;  // of the last one
  for (const Told& one : told) {
    if (one.echo && one.line == line) continue;
    line = one.line;
    mistakes.push_back(absl::StrCat(file, ":", one.line + 1, ":", one.column + 1, ": ", one.text));
    if (one.last) break;
  }
  return mistakes;
}

}  // namespace isocenter::text
