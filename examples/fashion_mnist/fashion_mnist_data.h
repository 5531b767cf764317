#pragma once

#include <memory>
#include <string>

#include "trainer/core/lightning_data_module.h"
#include "trainer/core/option_visitor.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader_options.h"

/// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017, arXiv:1708.07747): 60,000 training and 10,000 test images of ten kinds of
/// clothes, from the four IDX files in `dir`. Debian's package dataset-fashion-mnist has them. The 10,000 serve as
/// validation, test and prediction data.
class FashionMnistData : public levin::LightningDataModule {
 public:
  struct Options {
    std::string dir = "/usr/share/datasets/fashion-mnist";
    int64_t batch_size = 128;
    int64_t eval_batch_size = 1000;
    /// Of the worker threads; the batch sizes are those above.
    levin::LoaderOptions loader;
    void visit(levin::OptionVisitor& visitor);
  };

  explicit FashionMnistData(Options options) : options_(std::move(options)) {}
  FashionMnistData() : FashionMnistData(Options()) {}

  void setup(levin::Stage stage) override;
  std::unique_ptr<levin::DataLoader> train_dataloader() override;
  std::unique_ptr<levin::DataLoader> val_dataloader() override;
  std::unique_ptr<levin::DataLoader> test_dataloader() override;
  std::unique_ptr<levin::DataLoader> predict_dataloader() override;
  bool set_batch_size(int64_t batch_size) override;

 private:
  std::shared_ptr<const levin::Dataset> open(const std::string& split) const;
  std::unique_ptr<levin::DataLoader> loader(std::shared_ptr<const levin::Dataset> images, int64_t batch_size,
                                            bool shuffle) const;

  Options options_;
  std::shared_ptr<const levin::Dataset> train_;
  std::shared_ptr<const levin::Dataset> test_;
};
