#include "nn/classifier.h"

#include "base/usage_error.h"
#include "nn/qat_net.h"
#include "nn/resnet18.h"
#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;

std::string refused_use(const ClassifierOptions& options) {
  try {
    make_classifier(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Classifier, MakesTheNetworkThatWasNamed) {
  const auto small =
      make_classifier({.model = Model::qatnet, .pixels = 64, .classes = 7, .bits = 3, .dropout = 0.5});
  const auto* qat = dynamic_cast<QATNetImpl*>(small.get());
  ASSERT_NE(nullptr, qat);
  EXPECT_EQ(64, qat->options().pixels);
  EXPECT_EQ(7, qat->options().classes);
  EXPECT_EQ(3, qat->options().bits);
  EXPECT_EQ(0.5, qat->options().dropout);
  const auto large = make_classifier({.model = Model::resnet18, .pixels = 48, .classes = 9});
  const auto* residual = dynamic_cast<ResNet18Impl*>(large.get());
  ASSERT_NE(nullptr, residual);
  EXPECT_EQ(9, residual->options().classes);
}

TEST(Classifier, LogitsAreThoseOfTheNetworkAsItIsWhenTheyAreComputed) {
  for (const auto model : {Model::qatnet, Model::resnet18}) {
    SCOPED_TRACE(name_of(model));
    const auto classifier = make_classifier({.model = model, .pixels = 32, .classes = 5});
    classifier->eval();
    const auto images = torch::randn({4, 3, 32, 32});
    const auto logits = [&, prepared = classifier->prepare(images)] { return classifier->logits(prepared); };
    EXPECT_TRUE(torch::allclose(classifier->forward(images), logits()));
    EXPECT_TRUE(torch::equal(logits(), logits()));
    const auto before = logits();
    {
      const torch::NoGradGuard no_graph;
      for (const auto& parameter : classifier->parameters()) parameter.mul_(1.5);
    }
    EXPECT_FALSE(torch::allclose(before, logits()));
    EXPECT_TRUE(torch::allclose(classifier->forward(images), logits()));
    EXPECT_TRUE(logits().requires_grad());
  }
}

TEST(Classifier, DropoutIsDrawnAnewEachTime) {
  const auto classifier = make_classifier({.model = Model::qatnet, .classes = 5, .dropout = 0.5});
  const auto prepared = classifier->prepare(torch::randn({2, 3, 32, 32}));
  EXPECT_FALSE(torch::equal(classifier->logits(prepared), classifier->logits(prepared)));
}

TEST(Classifier, WhatTheNetworkDoesNotAllowIsAWrongUse) {
  EXPECT_NE(std::string::npos, refused_use({.model = Model::qatnet, .bits = 1}).find("2 to 8 bits"));
  EXPECT_NE(std::string::npos, refused_use({.model = Model::qatnet, .pixels = 33}).find("33 pixels"));
  EXPECT_NE(std::string::npos, refused_use({.model = Model::resnet18, .classes = 0}).find("0 classes"));
}

TEST(Classifier, ANetworkSaysHowFewImagesItLearnsFrom) {
  EXPECT_EQ(least_batch(Model::qatnet, 32), 1);
  EXPECT_EQ(least_batch(Model::resnet18, 32), 2);
}

}  // namespace
}  // namespace sadam::nn
