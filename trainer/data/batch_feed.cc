#include "trainer/data/batch_feed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/prefetcher.h"

namespace levin {
namespace {

/// Makes each batch when it is asked for.
class DirectFeed final : public BatchFeed {
 public:
  DirectFeed(std::shared_ptr<BatchSource> source, FeedOptions options)
      : source_(std::move(source)), options_(std::move(options)) {}

  std::optional<LoadedBatch> next() override {
    LoadedBatch loaded;
    loaded.request.number = number_;
    try {
      if (!source_->claim(loaded.request)) return std::nullopt;
      loaded.batch = source_->make(loaded.request);
    } catch (...) {
      throw_batch_failed(options_, "", loaded.request);
    }
    ++number_;
    return loaded;
  }

 private:
  std::shared_ptr<BatchSource> source_;
  FeedOptions options_;
  int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<BatchFeed> make_feed(std::shared_ptr<BatchSource> source, const FeedOptions& options) {
  if (options.num_workers == 0) return std::make_unique<DirectFeed>(std::move(source), options);
  return std::make_unique<Prefetcher>(std::move(source), options);
}

std::string describe_samples(std::span<const int64_t> indices) {
  constexpr size_t kNamed = 8;
  if (indices.empty()) return "";
  const std::span<const int64_t> named = indices.first(std::min(kNamed, indices.size()));
  const std::string text = fmt::format("{} {}", indices.size() == 1 ? "sample" : "samples", fmt::join(named, ", "));
  return named.size() == indices.size() ? text : fmt::format("{} and {} more", text, indices.size() - named.size());
}

void throw_batch_failed(const FeedOptions& options, const std::string& where, const BatchRequest& request) {
  const std::exception_ptr cause = std::current_exception();
  const std::string samples = describe_samples(request.indices);
  std::string message =
      fmt::format("[{}] batch {} could not be made", options.name, options.first_batch + request.number);
  if (!samples.empty()) message += " of " + samples;
  if (!where.empty()) message += ", in " + where;
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    std::throw_with_nested(DataError(fmt::format("{}: {}", message, error.what())));
  } catch (...) {
    throw DataError(message + ": the dataset threw what is no std::exception.");
  }
}

}  // namespace levin
