// What some frames of a scan show, said once with how many they are.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::recon {

class InFrames {
 public:
  /// What is wrong with a frame, as a sentence for people; nothing where nothing is. In any order.
  void Add(int frame, std::optional<std::string> text) {
    if (!text) return;
    if (frames_++ > 0 && frame > first_) return;
    first_ = frame;
    text_ = *std::move(text);
  }
  int frames() const { return frames_; }
  /// "in 20 of 60 frames, of which the first is 1".
  std::string Count(int all) const {
    return absl::StrCat("in ", frames_, " of ", all, " frames, of which the first is ", first_);
  }
  /// That of the first frame, and in how many of `all` there is one; nothing where there is none.
  std::optional<std::string> Text(int all) const {
    if (frames_ == 0) return std::nullopt;
    return absl::StrCat(Count(all), ": ", text_);
  }

 private:
  int frames_ = 0, first_ = 0;
  std::string text_;
};

}  // namespace isocenter::recon
