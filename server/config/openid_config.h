// The identity provider in the configuration.
#pragma once

#include "isocenter/v1/server_config.pb.h"
#include "server/config/mistakes.h"

namespace isocenter::config {

/// Whether an identity provider is named.
bool HasOpenId(const v1::WebConfig& web);

/// Of one that is named.
void ApplyOpenIdDefaults(v1::WebConfig& web);

/// Adds what is wrong with it, each as INVALID_ARGUMENT with the field, its value and what is
/// legal.
void CheckOpenId(const v1::WebConfig& web, Mistakes& mistakes);

/// Where the provider sends browsers back to. Empty: nobody is sent to it.
std::string RedirectUri(const v1::OpenIdConfig& openid);

}  // namespace isocenter::config
