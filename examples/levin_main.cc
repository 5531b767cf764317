// The `levin` program: the command line, with the classes of the examples for YAML to name. Register your own the same
// way.

#include "examples/fashion_mnist/classifier.h"
#include "examples/fashion_mnist/fashion_mnist_data.h"
#include "trainer/config/cli.h"
#include "trainer/config/registry.h"

int main(int argc, char** argv) {
  levin::register_module<FashionMnistClassifier>("FashionMnistClassifier");
  levin::register_data_module<FashionMnistData>("FashionMnistData");
  return levin::cli_main(argc, argv);
}
