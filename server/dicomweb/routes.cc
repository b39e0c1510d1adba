#include "server/dicomweb/routes.h"

#include "server/dicom/net/library.h"

namespace isocenter::dicomweb {

void AddRoutes(const Environment& environment, http::Router& router) {
  dicom::ConfigureLibrary();  // also where no DICOM node has done it
  AddSearchRoutes(environment, router);
  AddObjectRoutes(environment, router);
  AddMetadataRoutes(environment, router);
  AddPixelRoutes(environment, router);
  AddRenderedRoutes(environment, router);
}

}  // namespace isocenter::dicomweb
