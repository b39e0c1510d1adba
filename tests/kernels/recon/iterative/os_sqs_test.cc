// What OS-SQS's steps are made of: denominators, voxels' urgency, and subsets' corrections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "kernels/recon/iterative/os_sqs/subset_correction.h"
#include "kernels/recon/iterative/os_sqs/surrogate.h"
#include "kernels/recon/iterative/os_sqs/urgency.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::Each;
using ::testing::FloatNear;

class OsSqsPartsTest : public testing::Test {
 protected:
  void Open(const SmallScan& scan, int subsets, double prior = 0) {
    device_ = OpenDevice("reference");
    ops::Device* const devices[] = {device_.get()};
    plan_ = *MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                {.algorithm = Algorithm::kOsSqs,
                                 .subsets = subsets,
                                 .warm_start = false,
                                 .prior_strength = prior},
                                TestRegistry(), devices);
    system_ = *LinearSystem::Create(plan_, TestRegistry(), devices);
    variation_ = *PiecewiseVariation::Create(*system_);
  }
  VolumeVector VolumeOf(const std::vector<float>& values) {
    VolumeVector volume = *system_->NewVolume();
    EXPECT_TRUE(
        (*volume.At(0, Access::kOverwrite))->Upload(0, {values.data(), plan_.grid.shape()}).ok());
    return volume;
  }
  std::vector<float> ValuesOf(VolumeVector& volume) {
    std::vector<float> values(plan_.grid.voxels());
    EXPECT_TRUE(
        (*volume.At(0, Access::kRead))->Download(0, {values.data(), plan_.grid.shape()}).ok());
    return values;
  }
  std::vector<float> Random(float least, float most, int seed) const {
    std::vector<float> values(plan_.grid.voxels());
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(least, most);
    for (float& value : values) value = uniform(random);
    return values;
  }
  // 1/D for u after the surrogate was made with u = 1, which sets the prior.
  std::vector<float> InverseFor(const std::vector<float>& u, double* prior = nullptr,
                                bool of_all_views = false) {
    Surrogate surrogate = *Surrogate::Create(*system_);
    ProjectionVector b = *system_->NewProjections();
    ProjectionVector weights = *system_->NewChunk(), residual = *system_->NewChunk();
    VolumeVector scratch = *system_->NewVolume();
    for (const std::vector<float>& values : {std::vector<float>(u.size(), 1), u}) {
      VolumeVector urgency = VolumeOf(values);
      Agenda agenda;
      surrogate.Add({b, urgency, &scratch, weights, residual}, *variation_, agenda);
      if (of_all_views) {
        surrogate.AddOfAllViews({b, urgency, &scratch, weights, residual}, *variation_, agenda);
      }
      for (const auto& task : agenda) EXPECT_TRUE(task().ok());
    }
    if (prior != nullptr) *prior = surrogate.prior();
    return ValuesOf(surrogate.inverse());
  }
  // ‖A v‖², of one subset's views alone if there is one.
  double SquaredProjection(VolumeVector& v, std::optional<int> subset = std::nullopt) {
    ProjectionVector y = *system_->NewChunk();
    double sum = 0;
    for (int chunk = 0; chunk < system_->chunk_count(); ++chunk) {
      if (subset && system_->chunks()[chunk].subset != *subset) continue;
      EXPECT_TRUE(system_->Fill(chunk, 0, y).ok());
      EXPECT_TRUE(system_->Forward(v, chunk, y).ok());
      sum += *system_->Dot(chunk, y, y);
    }
    return sum;
  }

  std::unique_ptr<ops::Device> device_;
  RefinementPlan plan_;
  std::unique_ptr<LinearSystem> system_;
  std::unique_ptr<PiecewiseVariation> variation_;
};

// All views are used: D is a bound of the Hessian for any u, and is reached without prior by v = u,
// and where the prior is nearly all by a v that differs in sign from one voxel to the next.
TEST_F(OsSqsPartsTest, TheSurrogateIsAboveTheHessian) {
  const auto ratio = [&](const std::vector<float>& values, const std::vector<float>& inverse,
                         double prior) {
    VolumeVector v = VolumeOf(values);
    double bound = 0;
    for (size_t i = 0; i < values.size(); ++i) bound += values[i] * values[i] / inverse[i];
    const double differences = *variation_->Huber(1e6, v);  // half of the squares
    return (SquaredProjection(v) + 2 * prior * differences) / bound;
  };
  double prior = 0;
  for (const double strength : {0., 0.5}) {
    Open(MakeSmallScan(14), 2, strength);
    const std::vector<float> u = Random(1, 3, 7), inverse = InverseFor(u, &prior);
    EXPECT_EQ(prior > 0, strength > 0);
    for (int seed = 0; seed < 5; ++seed) EXPECT_LT(ratio(Random(-1, 1, seed), inverse, prior), 1);
    EXPECT_NEAR(ratio(u, inverse, prior), 1, strength > 0 ? 0.5 : 1e-4);
  }
  Open(MakeSmallScan(14), 2, 1000);
  const VolumeGrid& grid = plan_.grid;
  std::vector<float> u, v;
  for (int64_t i = 0; i < grid.voxels(); ++i) {
    const bool odd = (i / (grid.nx * grid.ny) + i / grid.nx % grid.ny + i % grid.nx) % 2 != 0;
    u.push_back(odd ? 3 : 1);
    v.push_back(odd ? 3 : -1);
  }
  // A tenth of the neighbours that are counted are beyond the volume's ends.
  const std::vector<float> inverse = InverseFor(u, &prior);
  EXPECT_NEAR(ratio(v, inverse, prior), 0.85, 0.05);
}

// 4 of 96 subsets' views stand for all.
TEST_F(OsSqsPartsTest, FewViewsTellTheDenominators) {
  const SmallScan scan = MakeSmallScan(96);
  Open(scan, 1);
  const std::vector<float> u = Random(1, 3, 3), all = InverseFor(u);
  Open(scan, 24, 0);
  const std::vector<float> some = InverseFor(u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(some[i] / all[i], 1, 0.15) << i;
}

// The panel sees less than the grid: what no view sees stays, prior or not.
TEST_F(OsSqsPartsTest, VoxelsThatNoViewOfTheFewSeesStay) {
  SmallScan scan = MakeSmallScan(96);
  scan.acquisition.detector.rows = 6;
  for (ProjectionMatrix& matrix : scan.acquisition.trajectory) {
    matrix = WithoutRowsBefore(matrix, 8);  // the middle rows
  }
  Open(scan, 24, 0.5);
  const std::vector<float> inverse = InverseFor(std::vector<float>(scan.grid.voxels(), 1));
  EXPECT_EQ(inverse.front(), 0);
  EXPECT_GT(inverse[inverse.size() / 2], 0);
}

// Where the panel sees a part of the grid from each side, a subset may see a voxel that the few
// views hardly see. A step by its gradient is too long then, but not with denominators of all
// views.
TEST_F(OsSqsPartsTest, AllViewsBoundEverySubset) {
  SmallScan scan = MakeSmallScan(40);
  scan.acquisition.detector.columns = 8;  // of 26, at one end
  const int subsets = 20;
  Open(scan, subsets);
  const std::vector<float> ones(scan.grid.voxels(), 1);
  const std::vector<float> few = InverseFor(ones);
  const std::vector<float> all = InverseFor(ones, nullptr, /*of_all_views=*/true);
  float longest = 0;
  for (size_t i = 0; i < ones.size(); ++i) {
    if (all[i] > 0) longest = std::max(longest, few[i] / all[i]);
  }
  EXPECT_GT(longest, 4);
  for (int seed = -1; seed < 3; ++seed) {
    const std::vector<float> values = seed < 0 ? ones : Random(-1, 1, seed);
    VolumeVector v = VolumeOf(values);
    double bound = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (all[i] > 0) bound += values[i] * values[i] / all[i];
    }
    for (int s = 0; s < subsets; ++s) EXPECT_LE(subsets * SquaredProjection(v, s), 1.0001 * bound);
  }
}

// The steps of voxels that the few views hardly see are bounded as by a prior of strength 0.02.
TEST_F(OsSqsPartsTest, FewViewsBoundStepsWithoutAPrior) {
  const SmallScan scan = MakeSmallScan(96);
  const std::vector<float> ones(scan.grid.voxels(), 1);
  const auto inverse_with = [&](double prior) {
    Open(scan, 24, prior);
    return InverseFor(ones);
  };
  const std::vector<float> none = inverse_with(0), more = inverse_with(0.2);
  EXPECT_EQ(none, inverse_with(0.02));
  for (size_t i = 0; i < ones.size(); ++i) EXPECT_GE(none[i], more[i]) << i;
  EXPECT_GT(none.front(), more.front());
}

TEST_F(OsSqsPartsTest, UrgencyIsFromOneToThree) {
  Open(MakeSmallScan(), 4);
  const auto urgency_of = [&](const std::vector<float>& values) {
    VolumeVector moved = VolumeOf(values), scratch = *system_->NewVolume();
    const double squared = *system_->Dot(moved, moved);
    EXPECT_TRUE(ToUrgency(*system_, *variation_, squared, moved, scratch).ok());
    return ValuesOf(moved);
  };
  const size_t voxels = plan_.grid.voxels();
  EXPECT_THAT(urgency_of(std::vector<float>(voxels, 0)), Each(1));
  EXPECT_THAT(urgency_of(std::vector<float>(voxels, -0.01f)), Each(FloatNear(3, 1e-5f)));
  std::vector<float> one(voxels, 0);
  const size_t middle = voxels / 2 + plan_.grid.nx / 2;
  one[middle] = 1e-3f;
  const std::vector<float> urgency = urgency_of(one);
  // 3 less an eighth of the difference of 2 to each of six neighbours, and what these have of it.
  EXPECT_NEAR(urgency[middle], 1.5, 1e-5);
  EXPECT_NEAR(urgency[middle + 1], 1.25, 1e-5);
  EXPECT_NEAR(urgency[middle + 2], 1, 1e-5);
}

// While the volume stays as it is, corrected gradients of all subsets are one: a part of the whole.
TEST_F(OsSqsPartsTest, CorrectedSubsetsAgree) {
  SmallScan scan = MakeSmallScan();
  Open(scan, 5);
  SubsetCorrection correction = *SubsetCorrection::Create(*system_);
  VolumeVector gradient = *system_->NewVolume(), x = VolumeOf(Random(0, 0.02f, 1));
  ProjectionVector residual = *system_->NewChunk(), scratch = *system_->NewChunk();
  std::vector<std::vector<float>> plain, corrected;
  const auto pass = [&](double share, std::vector<std::vector<float>>& gradients) {
    gradients.clear();
    ASSERT_TRUE(correction.BeginPass(share).ok());
    ASSERT_EQ(system_->chunk_count(), 5);
    for (int chunk = 0; chunk < 5; ++chunk) {
      ASSERT_TRUE(correction.BeginSubset(gradient).ok());
      ASSERT_TRUE(system_->Fill(chunk, 0, residual).ok());
      ASSERT_TRUE(system_->Forward(x, chunk, residual).ok());
      ASSERT_TRUE(correction.Correct(chunk, residual, scratch).ok());
      ASSERT_TRUE(system_->Back(chunk, residual, gradient).ok());
      gradients.push_back(ValuesOf(gradient));
      ASSERT_TRUE(correction.EndSubset(gradient).ok());
    }
  };
  pass(0, plain);
  for (const double share : {1., 0.7, 1.}) {  // the sums of a pass are those of the residuals
    pass(share, corrected);
    for (size_t voxel = 0; voxel < plain[0].size(); voxel += 7) {
      double mean = 0;
      for (const auto& of : plain) mean += of[voxel] / 5;
      for (int subset = 0; subset < 5; ++subset) {
        EXPECT_NEAR(corrected[subset][voxel], (1 - share) * plain[subset][voxel] + share * mean,
                    1e-4 * mean)
            << share << " " << voxel;
      }
    }
  }
}

}  // namespace
}  // namespace isocenter::recon
