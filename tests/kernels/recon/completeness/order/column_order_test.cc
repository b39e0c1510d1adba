#include "kernels/recon/completeness/order/column_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Row = std::span<uint16_t>;

std::string Told(EllipseScan scan, const std::function<void(Row)>& change) {
  ColumnOrder order(scan.acquisition);
  const size_t columns = scan.acquisition.detector.columns;
  for (int view = 0; view < scan.views(); ++view) {
    for (int v = 0; v < scan.acquisition.detector.rows; ++v) {
      change(std::span(scan.frames[view]).subspan(v * columns, columns));
    }
    order.Add(scan.Rows(view), 0);
  }
  return order.Text().value_or("");
}

void AsIs(Row) {}
void ExchangeHalves(Row row) {
  std::rotate(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(row.size() / 2), row.end());
}
void Invert(Row row) {
  for (uint16_t& count : row) count = static_cast<uint16_t>(std::max(0, 50000 - count));
}

constexpr EllipticBody kTrunk{.a_mm = 190, .b_mm = 110, .x_mm = 10, .y_mm = 5};
constexpr EllipticBody kCutAlike{.a_mm = 150, .b_mm = 130, .x_mm = 0, .y_mm = 0};

TEST(ColumnOrder, IsRightOfObjectsOfAnyWidth) {
  for (const EllipticBody& body : {EllipticBody{}, kTrunk, kCutAlike}) {
    for (const double noise : {0.0, 0.01, 0.05}) {
      EXPECT_THAT(Told(EllipseScan(60, 200, body, noise), AsIs), IsEmpty());
      EXPECT_THAT(Told(EllipseScan(60, 360, body, noise, 60), AsIs), IsEmpty()) << "displaced";
    }
  }
}

TEST(ColumnOrder, ExchangedHalvesAreNamed) {
  for (const double noise : {0.0, 0.01}) {
    EXPECT_THAT(Told(EllipseScan(60, 200, {}, noise), ExchangeHalves),
                HasSubstr("the columns are not in order: "));
    EXPECT_THAT(Told(EllipseScan(60, 200, kTrunk, noise), ExchangeHalves),
                HasSubstr("or the left and right halves of the frames"));
  }
}

TEST(ColumnOrder, LightAndDarkExchangedAreNamed) {
  for (const double noise : {0.0, 0.01}) {
    EXPECT_THAT(Told(EllipseScan(60, 200, {}, noise), Invert),
                HasSubstr("are light and dark exchanged"));
  }
  EXPECT_THAT(Told(EllipseScan(60, 200, {}, 0.01),
                   [](Row row) {
                     for (uint16_t& count : row) count = 65535 - count;
                   }),
              HasSubstr("are light and dark exchanged"));
}

}  // namespace
}  // namespace isocenter::recon
