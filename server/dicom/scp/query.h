// A query or retrieval request, apart from how it came: keys in, matching entities out.
// Source: DICOM PS3.4, C.6.1 and C.6.2. The keys are listed in docs/dicom.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/archive/catalog.h"

namespace isocenter::dicom {

enum class Level { kPatient, kStudy, kSeries, kImage };
enum class QueryRoot { kPatient, kStudy };

/// (group << 16 | element) of an attribute; of one in the only item of a sequence, the sequence's
/// tag stands in the upper 32 bits.
using TagPath = uint64_t;
constexpr TagPath InSequence(uint32_t sequence, uint32_t tag) {
  return TagPath{sequence} << 32 | tag;
}

/// Value by tag; UTF-8, several values separated by backslashes.
using KeyValues = std::map<TagPath, std::string>;

/// The keys in the items of a sequence that queries may hold; empty for other sequences.
std::vector<uint32_t> KeysOfSequence(uint32_t sequence);

/// Whose instances a retrieval sends.
struct Subjects {
  std::set<std::string> patient_ids, study_uids;
};

class Query {
 public:
  /// `keys`: the request's identifier, the query level (0008,0052) included. INVALID_ARGUMENT: a
  /// level that is missing or unknown to the root.
  static absl::StatusOr<Query> Parse(QueryRoot root, KeyValues keys);

  Level level() const { return level_; }
  const KeyValues& keys() const { return keys_; }
  /// Whether a key was asked for that this node does not know at this level.
  bool has_unsupported_keys() const { return has_unsupported_keys_; }
  /// What of the keys the index decides: nothing that matches is left out, but not all that is left
  /// matches. Lists of UIDs are decided whole.
  archive::Selection SelectionOfKeys() const;

  /// Calls `on_match` with the requested keys of every match until it returns false.
  /// `retrieve_ae_title` is the answer to (0008,0054). `gap`: why there may be more.
  absl::Status ForEachMatch(archive::Catalog& catalog, const std::string& retrieve_ae_title,
                            const std::function<bool(const KeyValues&)>& on_match,
                            archive::Gap& gap) const;

  /// The instances that a retrieval with these keys means: only the unique keys count. `subjects`
  /// gets whose they are, `gap` why there may be more. INVALID_ARGUMENT when the unique key of the
  /// level is missing.
  absl::StatusOr<std::vector<archive::InstanceRow>> Instances(archive::Catalog& catalog,
                                                              Subjects& subjects,
                                                              archive::Gap& gap) const;

 private:
  Query(Level level, KeyValues keys) : level_(level), keys_(std::move(keys)) {}
  const std::string& Key(TagPath tag) const;
  /// The same, or "" where the query's level does not have the attribute.
  const std::string& MatchedKey(TagPath tag) const;

  Level level_;
  KeyValues keys_;
  bool has_unsupported_keys_ = false;
};

}  // namespace isocenter::dicom
