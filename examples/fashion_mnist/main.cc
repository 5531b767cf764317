// Trains the convnet with the library alone: no YAML, no command line.
//
//   bazel run //examples/fashion_mnist:train -- [FOLDER WITH THE FOUR .gz FILES]

#include <cstdio>
#include <exception>

#include "examples/fashion_mnist/classifier.h"
#include "examples/fashion_mnist/fashion_mnist_data.h"
#include "trainer/trainer.h"

int main(int argc, char** argv) {
  try {
    levin::Trainer trainer({.max_epochs = 2, .experiment_name = "fashion_mnist", .seed = 2026});
    FashionMnistData::Options data_options;
    if (argc > 1) data_options.dir = argv[1];
    FashionMnistData data(data_options);
    FashionMnistClassifier model;

    trainer.fit(model, data);
    const levin::Metrics metrics = trainer.test(model, data);
    std::printf("test accuracy %.4f, run folder %s\n", *metrics.find("test_acc"), trainer.run_dir().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
