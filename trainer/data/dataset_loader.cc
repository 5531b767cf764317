#include "trainer/data/dataset_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

/// The batches of a share, of which `begin` have been delivered.
class ShareSource final : public BatchSource {
 public:
  ShareSource(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const RankShare> share, int64_t begin,
              SampleRandom random, Collate collate, bool pins)
      : dataset_(std::move(dataset)),
        share_(std::move(share)),
        begin_(begin),
        random_(random),
        collate_(std::move(collate)),
        pins_(pins) {}

  bool claim(BatchRequest& request) override {
    const int64_t index = begin_ + request.number;
    if (index >= share_->num_batches()) return false;
    share_->read(index, request.indices);
    return true;
  }

  Batch make(const BatchRequest& request) const override {
    Batch batch = collate_ ? collate_(dataset_->get_samples(request.indices, random_))
                           : dataset_->get_batch(request.indices, random_);
    if (!pins_) return batch;
    return batch.map([](const at::Tensor& leaf) { return leaf.pin_memory(); });
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const RankShare> share_;
  int64_t begin_;
  SampleRandom random_;
  Collate collate_;
  bool pins_;
};

std::shared_ptr<const Sampler> make_sampler(const LoaderOptions& options, int64_t size) {
  if (options.sampler) return options.sampler;
  if (options.shuffle) return std::make_shared<RandomSampler>(size);
  return std::make_shared<SequentialSampler>(size);
}

void check_options(LoaderOptions options) {
  OptionChecker checker;
  options.visit(checker);
  if (!checker.problems().empty()) throw ConfigError("[DatasetLoader] " + checker.problems().front() + ".");
  if (options.sampler && options.shuffle) {
    throw ConfigError("[DatasetLoader] shuffle must be false where a sampler is given, which decides the order.");
  }
}

}  // namespace

DatasetLoader::DatasetLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  check_options(options_);
  if (dataset_->size() == 0) throw DataError("[DatasetLoader] the dataset has no samples.");
  sampler_ = make_sampler(options_, dataset_->size());
  go_to(0, 0, 0);
  if (share_->num_batches() == 0) {
    throw DataError(
        fmt::format("[DatasetLoader] the dataset's {} samples make no full batch of {}, and drop_last is set.",
                    dataset_->size(), options_.batch_size));
  }
}

DatasetLoader::~DatasetLoader() = default;
DatasetLoader::DatasetLoader(DatasetLoader&&) noexcept = default;

void DatasetLoader::attach(const LoaderContext& context) {
  context_ = context;
  go_to(0, 0, 0);
}

void DatasetLoader::start_epoch(int64_t epoch) { go_to(epoch, 0, 0); }

void DatasetLoader::go_to(int64_t epoch, int64_t num_units, int64_t num_batches) {
  stop();
  epoch_ = epoch;
  num_before_ = num_batches;
  num_delivered_ = 0;
  sample_indices_.clear();
  share_ =
      std::make_shared<RankShare>(make_order(epoch), num_units,
                                  ShareOptions{.rank = context_.rank,
                                               .world_size = context_.world_size,
                                               .units_per_batch = sampler_->makes_batches() ? 1 : options_.batch_size,
                                               .drop_last = options_.drop_last,
                                               .has_equal_ranks = context_.has_equal_ranks});
}

std::shared_ptr<const EpochOrder> DatasetLoader::make_order(int64_t epoch) const {
  if (!context_.is_in_order) return sampler_->order(context_.seed, epoch);
  // The same batches each epoch: in the dataset's order, or in the one that a sampler gives its first epoch.
  return options_.sampler ? sampler_->order(context_.seed, 0) : SequentialSampler(dataset_->size()).order(0, 0);
}

std::unique_ptr<BatchFeed> DatasetLoader::make_feed_from_here() const {
  auto source = std::make_shared<ShareSource>(dataset_, share_, num_delivered_, SampleRandom{context_.seed, epoch_},
                                              options_.collate, options_.pin_memory && context_.device.is_cuda());
  return make_feed(std::move(source), {.name = "DatasetLoader",
                                       .first_batch = num_before_ + num_delivered_,
                                       .num_workers = options_.num_workers,
                                       .prefetch_factor = options_.prefetch_factor,
                                       .timeout = options_.timeout});
}

std::optional<Batch> DatasetLoader::next() {
  if (!feed_) feed_ = make_feed_from_here();
  std::optional<LoadedBatch> loaded;
  try {
    loaded = feed_->next();
  } catch (...) {
    stop();
    throw;
  }
  if (!loaded) {
    stop();
    return std::nullopt;
  }
  ++num_delivered_;  // only what has been delivered counts
  sample_indices_ = std::move(loaded->request.indices);
  return std::move(loaded->batch);
}

std::optional<int64_t> DatasetLoader::num_batches() const { return num_before_ + share_->num_batches(); }

std::optional<int64_t> DatasetLoader::batch_size() const {
  if (sampler_->makes_batches()) return std::nullopt;
  return options_.batch_size;
}

void DatasetLoader::stop() noexcept { feed_.reset(); }

StateDict DatasetLoader::state() const {
  StateDict state;
  state.set("epoch", epoch_);
  state.set("batches_delivered", num_before_ + num_delivered_);
  state.set("units_delivered", share_->delivered(num_delivered_));
  state.set("num_units", share_->num_units());
  state.set("dataset_size", dataset_->size());
  return state;
}

void DatasetLoader::load_state(const StateDict& state) {
  const int64_t epoch = state.integer("epoch");
  if (epoch < 0) throw CheckpointError(fmt::format("[DatasetLoader] the saved epoch must be >= 0, got {}.", epoch));
  const int64_t num_units = make_order(epoch)->size();
  if (state.integer("dataset_size") != dataset_->size() || state.integer("num_units") != num_units) {
    throw CheckpointError(
        fmt::format("[DatasetLoader] the saved position is for {} samples, {} units of the sampler, but this loader "
                    "has {} samples, "
                    "{} units.",
                    state.integer("dataset_size"), state.integer("num_units"), dataset_->size(), num_units));
  }
  const int64_t delivered = state.integer("units_delivered");
  const int64_t num_batches = state.integer("batches_delivered");
  if (delivered < 0 || delivered > num_units || num_batches < 0) {
    throw CheckpointError(
        fmt::format("[DatasetLoader] the saved position is {} of {} units, after {} batches, which cannot be.",
                    delivered, num_units, num_batches));
  }
  go_to(epoch, delivered, num_batches);
}

}  // namespace levin
