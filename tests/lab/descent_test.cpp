#include "lab/scene.h"

#include <gtest/gtest.h>
#include <sadam/sadam.h>

#include "base/usage_error.h"
#include "lab/landscape_picture.h"
#include "report/picture.h"
#include "support/refusal.h"
#include "support/xml.h"

namespace sadam::lab {
namespace {

TEST(Contestants, AreReadAsTheProgramWritesThem) {
  const auto all = contestants_named({"adamw", "prox_sgd lr=0.01", "sadam k=8", "sadam reference damping=3",
                                      "matched", "adamw cosine", "sadam directions=step statistic=residual"},
                                     {"optimizer.beta1=0.8"}, 7);
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0].name, "AdamW");
  EXPECT_EQ(all[0].recipe.optimizer.lr, 0.05);
  EXPECT_EQ(all[0].recipe.optimizer.weight_decay, 0);
  EXPECT_EQ(all[0].recipe.optimizer.beta1, 0.8);
  EXPECT_EQ(all[1].name, "Prox-SGD lr=0.01");
  EXPECT_EQ(all[1].recipe.optimizer.lr, 0.01);
  EXPECT_EQ(all[2].recipe.optimizer.probes, 8);
  EXPECT_EQ(all[2].recipe.seed, 7);
  EXPECT_EQ(all[3].recipe.optimizer.statistic, "unbiased_variance");
  EXPECT_EQ(all[3].recipe.optimizer.damping, 3);
  EXPECT_EQ(all[4].recipe.control.kind, "matched");
  EXPECT_EQ(all[4].recipe.optimizer.bias_correction, "reference") << "as the S-Adam before it";
  EXPECT_EQ(all[5].recipe.schedule.name, "cosine");
  EXPECT_EQ(all[6].recipe.optimizer.directions, "step");
}

TEST(Contestants, ThatDoNotExistAreAnsweredWithTheNearest) {
  const auto refused = [](const std::vector<std::string>& words, const std::vector<std::string>& sets = {}) {
    return testing::refusal<UsageError>([&] { contestants_named(words, sets, 1); });
  };
  EXPECT_NE(refused({"sadm"}).find("'sadam'"), std::string::npos);
  EXPECT_NE(refused({"sadam probs=2"}).find("'probes'"), std::string::npos);
  EXPECT_NE(refused({"adamw paper"}).find("'sadam paper'"), std::string::npos);
  EXPECT_NE(refused({"adamw", "matched"}).find("sadam,matched"), std::string::npos);
  EXPECT_NE(refused({"adamw"}, {"data.name=cifar10"}).find("leave it out"), std::string::npos);
  EXPECT_NE(refused({"adamw"}, {"optimizer.lrr=1"}).find("'lr'"), std::string::npos);
  EXPECT_NE(refused(std::vector<std::string>(13, "adamw")).find("at most"), std::string::npos);
}

TEST(Descent, IsThatOfTheLibrarysOptimizers) {
  const auto f = make_landscape("kinks");
  const auto descents = descend(f, f.start, 50, contestants_named({"adamw", "sadam"}, {}, 3));
  auto w = torch::tensor(f.start, torch::kDouble).requires_grad_();
  SAdam optimizer(std::vector<torch::Tensor>{w}, SAdamOptions(0.05).weight_decay(0).seed(3));
  for (int i = 0; i < 50; ++i) {
    optimizer.step([&] { return f.loss(w); });
    EXPECT_EQ(descents[1].brakes[static_cast<std::size_t>(i)], optimizer.summary().brake);
  }
  EXPECT_EQ(descents[1].points.back(), (Point{w[0].item<double>(), w[1].item<double>()}));
  EXPECT_EQ(descents[0].points.size(), 51U);
  EXPECT_EQ(descents[0].mean_brake(), 1);
}

TEST(Descent, ControlsTakeTheBrakesOfTheSAdamBeforeThem) {
  const auto f = make_landscape("lasso");
  const auto all = descend(f, f.start, 80, contestants_named({"sadam", "matched", "shuffled"}, {}, 5));
  EXPECT_LT(all[0].mean_brake(), 0.99);
  for (const double brake : all[1].brakes) EXPECT_NEAR(brake, all[0].mean_brake(), 1e-15);
  auto sorted = all[0].brakes;
  auto shuffled = all[2].brakes;
  EXPECT_NE(sorted, shuffled);
  std::sort(sorted.begin(), sorted.end());
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(sorted, shuffled);
}

TEST(LandscapePicture, OfEveryLandscapeIsAPicture) {
  for (const auto& name : landscape_names()) {
    const auto f = make_landscape(name);
    const auto scene = make_scene(
        f, f.start, 40, contestants_named({"adamw", "sadam", "matched", "cosine"}, {}, 1), std::nullopt);
    const auto picture = to_picture(scene);
    const auto svg = report::to_svg(picture);
    EXPECT_EQ(xml_fault(svg), "") << name;
    EXPECT_GT(count_of(svg, "class=\"contour\""), 3U) << name;
    EXPECT_EQ(to_table(scene).rows.size(), 4U);
    EXPECT_EQ(scene.ideal.has_value(), f.cell == 0) << name;
    EXPECT_EQ(scene.at.has_value(), !f.is_smooth() && f.cell == 0) << name;
  }
}

TEST(LandscapePicture, ShowsTheClarkeSetWhereItIsAsked) {
  const auto f = make_landscape("kinks");
  const auto panel = clarke_panel(f, {1, -0.5}, 0.5, 200);  // [0, 2] × {−1.5}
  ASSERT_EQ(panel.curves.size(), 1U);
  ASSERT_EQ(panel.curves[0].points.size(), 3U) << "there and back";
  EXPECT_EQ(panel.curves[0].points[0].y, -1.5);
  ASSERT_EQ(panel.marks.size(), 2U) << "0 and the point nearest to it";
  EXPECT_NEAR(panel.marks[1].at.x, 0, 1e-12);
  EXPECT_NEAR(panel.marks[1].at.y, -1.5, 1e-12);
  EXPECT_NE(panel.marks[1].text.find("1.5"), std::string::npos);
}

TEST(LandscapePicture, InManyDimensionsShowsTwo) {
  const auto f = make_landscape("chain", 20);
  const auto scene = make_scene(f, f.start, 20, contestants_named({"sadam"}, {}, 1), std::nullopt);
  EXPECT_FALSE(scene.at) << "too many kinks meet at the minimum";
  const auto picture = to_picture(scene);
  EXPECT_NE(picture.subtitle.find("20 dimensions"), std::string::npos);
  EXPECT_EQ(xml_fault(report::to_svg(picture)), "");
}

TEST(LandscapePicture, ADescentThatRunsAwayDoesNotDecideTheWindow) {
  const auto f = make_landscape("valley");
  const auto scene =
      make_scene(f, f.start, 60, contestants_named({"sadam", "prox_sgd lr=0.5"}, {}, 1), std::nullopt);
  const auto window = window_of(scene);
  EXPECT_GT(window.left, -3);
  EXPECT_LT(window.right, 3);
  EXPECT_EQ(xml_fault(report::to_svg(to_picture(scene))), "");
}

}  // namespace
}  // namespace sadam::lab
