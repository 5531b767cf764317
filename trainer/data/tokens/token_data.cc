#include "trainer/data/tokens/token_data.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/tokens/mixing_sampler.h"

namespace levin {

void TokenData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train_files", train_files, "token files of the training data");
  visitor.field("val_files", val_files, "token files of the validation data");
  visitor.field("test_files", test_files, "token files of the test data");
  visitor.field("predict_files", predict_files, "token files of the prediction data");
  visitor.field("weights", weights, "share of each training file in an epoch; none: each window once", at_least(0));
  visitor.field("windows_per_epoch", windows_per_epoch, "training windows of an epoch; null: as many as there are",
                at_least(1));
  visitor.field("sequence_length", sequence_length, "tokens of an input", at_least(1));
  visitor.field("stride", stride, "tokens between the starts of training windows; null: sequence_length", at_least(1));
  visitor.field("type", type, "type of the tokens in files without a side file", one_of({"uint16", "uint32"}));
  visitor.field("vocab_size", vocab_size, "tokens must be below it; null: as the side files say", at_least(1));
  visitor.field("batch_size", loader.batch_size, "windows of a training batch, on each rank", at_least(1));
  visitor.field("eval_batch_size", eval_batch_size, "windows of a batch elsewhere", at_least(1));
  visit_worker_options(loader, visitor);
}

TokenData::TokenData(Options options) : options_(std::move(options)) {
  OptionChecker checker;
  options_.visit(checker);
  if (!checker.problems().empty()) throw ConfigError("[TokenData] " + checker.problems().front() + ".");
  if (!options_.weights.empty() && options_.weights.size() != options_.train_files.size()) {
    throw ConfigError(fmt::format("[TokenData] weights must have one for each of the {} train_files, got {}.",
                                  options_.train_files.size(), options_.weights.size()));
  }
}

void TokenData::setup(Stage stage) {
  if (stage == Stage::kTrain && !train_) {
    train_ = open(options_.train_files, options_.stride);
    if (train_) train_sampler_ = make_sampler(*train_);
  }
  if ((stage == Stage::kTrain || stage == Stage::kValidate) && !val_) val_ = open(options_.val_files, std::nullopt);
  if (stage == Stage::kTest && !test_) test_ = open(options_.test_files, std::nullopt);
  if (stage == Stage::kPredict && !predict_) predict_ = open(options_.predict_files, std::nullopt);
}

std::shared_ptr<const TokenDataset> TokenData::open(const std::vector<std::string>& files,
                                                    std::optional<int64_t> stride) const {
  if (files.empty()) return nullptr;
  const std::optional<TokenType> type = options_.type ? token_type_of_name(*options_.type) : std::nullopt;
  std::vector<std::shared_ptr<const TokenFile>> opened;
  opened.reserve(files.size());
  for (const std::string& file : files) opened.push_back(std::make_shared<TokenFile>(file, type));
  return std::make_shared<TokenDataset>(
      std::move(opened),
      TokenWindows{.sequence_length = options_.sequence_length, .stride = stride, .vocab_size = options_.vocab_size});
}

std::shared_ptr<const Sampler> TokenData::make_sampler(const TokenDataset& dataset) const {
  if (options_.weights.empty() && !options_.windows_per_epoch) return nullptr;
  const int64_t num_windows = options_.windows_per_epoch.value_or(dataset.size());
  // Without weights all files are one group.
  if (options_.weights.empty()) {
    return std::make_shared<MixingSampler>(std::vector<int64_t>{dataset.size()}, std::vector<double>{1.0}, num_windows);
  }
  const std::vector<int64_t> windows = dataset.windows_per_file();
  for (size_t file = 0; file < windows.size(); ++file) {
    if (options_.weights[file] == 0.0 || windows[file] > 0) continue;
    throw DataError(
        fmt::format("[TokenData] {} has no window of sequence_length {}, but the weight {}. Leave the file "
                    "out, or make the weight 0.",
                    options_.train_files[file], options_.sequence_length, options_.weights[file]));
  }
  return std::make_shared<MixingSampler>(windows, options_.weights, num_windows);
}

std::unique_ptr<DataLoader> TokenData::train_dataloader() {
  if (!train_) return nullptr;
  LoaderOptions options = options_.loader;
  options.sampler = train_sampler_;
  options.shuffle = train_sampler_ == nullptr;
  return std::make_unique<DatasetLoader>(train_, options);
}

std::unique_ptr<DataLoader> TokenData::eval_loader(const std::shared_ptr<const TokenDataset>& dataset) const {
  if (!dataset) return nullptr;
  LoaderOptions options = options_.loader;
  options.batch_size = options_.eval_batch_size;
  options.shuffle = false;
  options.drop_last = false;
  return std::make_unique<DatasetLoader>(dataset, options);
}

bool TokenData::set_batch_size(int64_t batch_size) {
  options_.loader.batch_size = batch_size;
  return true;
}

}  // namespace levin
