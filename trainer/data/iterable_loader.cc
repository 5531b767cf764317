#include "trainer/data/iterable_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

/// One rank's batches of a stream.
class StreamSource final : public BatchSource {
 public:
  StreamSource(std::shared_ptr<const IterableDataset> dataset, std::unique_ptr<SampleStream> stream,
               const LoaderOptions& options, const LoaderContext& context)
      : dataset_(std::move(dataset)), stream_(std::move(stream)), options_(options), context_(context) {}

  bool claim(BatchRequest& request) override {
    if (has_ended_) return false;
    const int64_t before = context_.rank * options_.batch_size;
    const int64_t after = (context_.world_size - 1 - context_.rank) * options_.batch_size;
    int64_t num_read = stream_->skip(before);
    if (num_read == before) {
      read(request.samples);
      num_read += static_cast<int64_t>(request.samples.size());
    }
    if (num_read == before + options_.batch_size) num_read += stream_->skip(after);
    const bool is_full = num_read == options_.batch_size * context_.world_size;
    has_ended_ = !is_full;
    if (request.samples.empty() || (!is_full && leaves_out_rest())) return false;
    request.num_samples = num_read;
    request.stream_state = stream_->state();
    return true;
  }

  Batch make(const BatchRequest& request) const override {
    Batch batch = options_.collate ? options_.collate(request.samples) : stack_samples(request.samples);
    if (!options_.pin_memory || !context_.device.is_cuda()) return batch;
    return batch.map([](const at::Tensor& leaf) { return leaf.pin_memory(); });
  }

 private:
  void read(std::vector<Batch>& samples) {
    while (static_cast<int64_t>(samples.size()) < options_.batch_size) {
      std::optional<Batch> sample = stream_->next();
      if (!sample) return;
      samples.push_back(std::move(*sample));
    }
  }

  bool leaves_out_rest() const { return options_.drop_last || (context_.has_equal_ranks && context_.world_size > 1); }

  std::shared_ptr<const IterableDataset> dataset_;  // which the stream may read from
  std::unique_ptr<SampleStream> stream_;
  LoaderOptions options_;
  LoaderContext context_;
  bool has_ended_ = false;
};

}  // namespace

IterableLoader::IterableLoader(std::shared_ptr<const IterableDataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  OptionChecker checker;
  options_.visit(checker);
  if (!checker.problems().empty()) throw ConfigError("[IterableLoader] " + checker.problems().front() + ".");
  if (options_.shuffle || options_.sampler) {
    throw ConfigError(
        "[IterableLoader] an iterable dataset decides its own order: shuffle and sampler must not be set.");
  }
}

IterableLoader::~IterableLoader() = default;

void IterableLoader::attach(const LoaderContext& context) {
  context_ = context;
  start_epoch(0);
}

void IterableLoader::start_epoch(int64_t epoch) {
  stop();
  epoch_ = epoch;
  num_batches_ = 0;
  num_samples_ = 0;
  has_ended_ = false;
  stream_state_.reset();
}

std::unique_ptr<BatchFeed> IterableLoader::make_feed_from_here() const {
  // The same samples each epoch where the run asks for that.
  std::unique_ptr<SampleStream> stream = dataset_->open({context_.seed, context_.is_in_order ? 0 : epoch_});
  if (stream_state_) {
    stream->load_state(*stream_state_);
  } else if (const int64_t skipped = stream->skip(num_samples_); skipped != num_samples_) {
    throw DataError(fmt::format("[IterableLoader] the position is after {} samples of the epoch, but it has only {}.",
                                num_samples_, skipped));
  }
  return make_feed(std::make_shared<StreamSource>(dataset_, std::move(stream), options_, context_),
                   {.name = "IterableLoader",
                    .first_batch = num_batches_,
                    .num_workers = options_.num_workers,
                    .prefetch_factor = options_.prefetch_factor,
                    .timeout = options_.timeout});
}

std::optional<Batch> IterableLoader::next() {
  if (has_ended_) return std::nullopt;
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
    has_ended_ = true;
    return std::nullopt;
  }
  ++num_batches_;
  num_samples_ += loaded->request.num_samples;
  stream_state_ = std::move(loaded->request.stream_state);
  return std::move(loaded->batch);
}

std::optional<int64_t> IterableLoader::num_batches() const {
  const std::optional<int64_t> size = dataset_->size();
  if (!size) return std::nullopt;
  const int64_t per_round = options_.batch_size * context_.world_size;
  const int64_t left = *size - num_samples_;
  const int64_t num_full = left / per_round;
  const int64_t rest = left % per_round;
  const bool leaves_out_rest = options_.drop_last || (context_.has_equal_ranks && context_.world_size > 1);
  const bool has_rest = !leaves_out_rest && rest > context_.rank * options_.batch_size;
  return num_batches_ + num_full + (has_rest ? 1 : 0);
}

StateDict IterableLoader::state() const {
  StateDict state;
  state.set("epoch", epoch_);
  state.set("batches_delivered", num_batches_);
  state.set("samples_delivered", num_samples_);
  if (stream_state_) state.merge("stream.", *stream_state_);
  return state;
}

void IterableLoader::load_state(const StateDict& state) {
  const int64_t epoch = state.integer("epoch");
  const int64_t num_batches = state.integer("batches_delivered");
  const int64_t num_samples = state.integer("samples_delivered");
  if (epoch < 0 || num_batches < 0 || num_samples < 0) {
    throw CheckpointError(
        fmt::format("[IterableLoader] the saved position cannot be: epoch {}, {} batches, {} samples.", epoch,
                    num_batches, num_samples));
  }
  start_epoch(epoch);
  num_batches_ = num_batches;
  num_samples_ = num_samples;
  if (StateDict stream = state.under("stream."); !stream.empty()) stream_state_ = std::move(stream);
}

}  // namespace levin
