// DICOMweb: search (QIDO-RS) and retrieval (WADO-RS) of what is stored. docs/dicomweb.md is the
// contract; source: DICOM PS3.18.
#pragma once

#include "server/archive/catalog.h"
#include "server/http/access.h"
#include "server/http/router.h"

namespace isocenter::dicomweb {

struct Environment {
  archive::Catalog& catalog;  // outlives the routes
  http::Role least;           // who may ask; answers have the names of patients
};

/// All of them.
void AddRoutes(const Environment& environment, http::Router& router);

void AddSearchRoutes(const Environment& environment, http::Router& router);
void AddObjectRoutes(const Environment& environment, http::Router& router);
void AddMetadataRoutes(const Environment& environment, http::Router& router);
void AddPixelRoutes(const Environment& environment, http::Router& router);
void AddRenderedRoutes(const Environment& environment, http::Router& router);

}  // namespace isocenter::dicomweb
