// Rules for single text fields, which clients follow as well, under the names of this room.
#pragma once

#include "proto/wire/field_checks.h"
#include "proto/wire/illegal.h"

namespace isocenter::rpc {

using wire::CheckCodeString;
using wire::CheckDate;
using wire::CheckIdentifier;
using wire::CheckPersonName;
using wire::CheckText;
using wire::CheckTime;
using wire::CheckUid;
using wire::Illegal;
using wire::Shown;

}  // namespace isocenter::rpc
