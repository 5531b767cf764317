#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/core/data_loader.h"

namespace levin {

/// How long an epoch of several loaders is.
enum class CombineMode {
  kMinSize,       ///< Until the first of them ends.
  kMaxSizeCycle,  ///< Until the longest has ended; the others begin again, in another order.
  kMaxSize,       ///< Until the longest has ended; those that have ended before are missing from the batch.
  kSequential,    ///< One after the other: each batch has one field.
};

/// The mode called "min_size", "max_size_cycle", "max_size" or "sequential". Errors: ConfigError that lists them.
CombineMode parse_combine_mode(const std::string& name);

/// Several loaders as one. A batch has a field for each loader, by its name: batch["labelled"], batch["unlabelled"].
class CombinedLoader final : public DataLoader {
 public:
  using Loaders = std::vector<std::pair<std::string, std::unique_ptr<DataLoader>>>;

  /// Errors: ConfigError if there is no loader, one is nullptr, or a name is empty, has a dot or is used twice.
  CombinedLoader(Loaders loaders, CombineMode mode);

  void attach(const LoaderContext& context) override;
  void start_epoch(int64_t epoch) override;
  std::optional<Batch> next() override;
  std::optional<int64_t> num_batches() const override;
  /// All samples of a batch, those of every loader (kSequential: of the first); nullopt if one does not know its own.
  std::optional<int64_t> batch_size() const override;
  StateDict state() const override;
  void load_state(const StateDict& state) override;
  void stop() noexcept override;

 private:
  /// One of the loaders, and how far it is in this epoch.
  struct Part {
    std::string name;
    std::unique_ptr<DataLoader> loader;
    int64_t num_passes = 0;  // that have ended
    bool has_ended = false;
  };

  std::optional<Batch> next_in_sequence();
  std::optional<Batch> next_of_all();
  /// The next batch of a part; begins it again where the mode says so.
  std::optional<Batch> next_of(Part& part);
  void start(Part& part);
  bool have_all_ended() const;

  std::vector<Part> parts_;
  CombineMode mode_;
  int64_t epoch_ = 0;
  bool is_over_ = false;
};

}  // namespace levin
