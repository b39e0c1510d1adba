#include "tests/bench/rooms/arrivals.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace isocenter::bench {

absl::StatusOr<Arrivals> ParseArrivals(absl::string_view text, int rooms) {
  constexpr double kLatest = 1e7;  // as --seconds
  Arrivals arrivals(rooms);
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    double seconds = 0;
    int room = 0;
    if (words.size() != 2 || !absl::SimpleAtod(words[0], &seconds) || !(seconds >= 0) ||
        seconds > kLatest || !absl::SimpleAtoi(words[1], &room) || room < 1 || room > rooms) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " of the arrivals is '", absl::StripAsciiWhitespace(line),
                       "'; legal is SECONDS ROOM with 0 to 1e7 seconds and rooms 1 to ", rooms));
    }
    arrivals[room - 1].push_back(seconds);
  }
  for (std::vector<double>& of_room : arrivals) std::sort(of_room.begin(), of_room.end());
  return arrivals;
}

absl::StatusOr<Arrivals> ReadArrivals(const std::string& path, int rooms) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  std::ostringstream text;
  text << file.rdbuf();
  return ParseArrivals(text.str(), rooms);
}

}  // namespace isocenter::bench
