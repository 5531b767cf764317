#include "trainer/data/tokens/packing.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

/// The document at hand, with its end-of-text token as its last one where there is such.
class Document {
 public:
  Document(at::Tensor tokens, std::optional<int64_t> end_of_text)
      : tokens_(std::move(tokens)), data_(tokens_.const_data_ptr<int64_t>()), end_of_text_(end_of_text) {}

  int64_t size() const { return tokens_.size(0) + (end_of_text_ ? 1 : 0); }
  int64_t operator[](int64_t at) const { return at < tokens_.size(0) ? data_[at] : *end_of_text_; }
  /// The tokens from `at` on, without the end-of-text token.
  at::Tensor rest(int64_t at) const { return tokens_.slice(0, std::min(at, tokens_.size(0))); }

 private:
  at::Tensor tokens_;
  const int64_t* data_;
  std::optional<int64_t> end_of_text_;
};

/// A window in the making.
struct Window {
  explicit Window(int64_t length)
      : input(at::empty({length}, at::kLong)),
        target(at::empty({length}, at::kLong)),
        document(at::empty({length}, at::kLong)),
        position(at::empty({length}, at::kLong)),
        input_data(input.mutable_data_ptr<int64_t>()),
        target_data(target.mutable_data_ptr<int64_t>()),
        document_data(document.mutable_data_ptr<int64_t>()),
        position_data(position.mutable_data_ptr<int64_t>()) {}

  void set(int64_t at, int64_t input_token, int64_t target_token, int64_t document_index, int64_t place) {
    input_data[at] = input_token;
    target_data[at] = target_token;
    document_data[at] = document_index;
    position_data[at] = place;
  }

  Batch to_batch() const {
    return Batch(Batch::Fields{{"input", input}, {"target", target}, {"document", document}, {"position", position}});
  }

  at::Tensor input;
  at::Tensor target;
  at::Tensor document;
  at::Tensor position;
  // Looked up once: set() is called for every token.
  int64_t* input_data;
  int64_t* target_data;
  int64_t* document_data;
  int64_t* position_data;
};

class PackedStream final : public SampleStream {
 public:
  PackedStream(std::shared_ptr<const IterableDataset> documents, std::unique_ptr<SampleStream> stream,
               const PackingOptions& options)
      : documents_(std::move(documents)), stream_(std::move(stream)), options_(options) {}

  std::optional<Batch> next() override {
    Window window(options_.sequence_length);
    if (!fill(&window)) return std::nullopt;
    return window.to_batch();
  }

  int64_t skip(int64_t count) override {
    int64_t num_skipped = 0;
    while (num_skipped < count && fill(nullptr)) ++num_skipped;
    return num_skipped;
  }

  std::optional<StateDict> state() const override {
    const std::optional<StateDict> inner = stream_->state();
    if (!inner) return std::nullopt;
    StateDict state;
    state.merge("documents.", *inner);
    state.set("has_document", int64_t{document_ ? 1 : 0});
    if (document_) state.set("tokens", document_->rest(next_));
    return state;
  }

  void load_state(const StateDict& state) override {
    stream_->load_state(state.under("documents."));
    document_.reset();
    next_ = 0;
    if (state.integer("has_document") == 0) return;
    const at::Tensor& tokens = state.tensor("tokens");
    if (!is_document(tokens) || (tokens.size(0) == 0 && !options_.end_of_text)) {
      throw CheckpointError(fmt::format("[PackedDocuments] the saved rest of a document must be int64 [L], got {}.",
                                        describe_tensor(tokens)));
    }
    document_.emplace(tokens.contiguous(), options_.end_of_text);
  }

 private:
  static bool is_document(const at::Tensor& tensor) {
    return tensor.defined() && tensor.dim() == 1 && tensor.scalar_type() == at::kLong && tensor.is_cpu();
  }

  /// Fills the next window, or passes over it where there is none. False if the documents end before it is full, unless
  /// padding fills it up.
  bool fill(Window* window) {
    int64_t document_index = 0;
    int64_t begin = next_;  // where the document begins in this window
    for (int64_t at = 0; at < options_.sequence_length;) {
      if (!document_ && !read_document()) return false;
      if (next_ + 1 < document_->size()) {
        at += take_inside(window, at, document_index, begin);
        continue;
      }
      // The last token of the document: its target is of the next one.
      const int64_t last = (*document_)[next_];
      const int64_t place = next_ - begin;
      if (!read_document()) {
        document_.reset();
        return at > 0 && options_.pads_last && pad(window, at, last, document_index, place);
      }
      if (window != nullptr) {
        window->set(at, last, options_.ignores_borders ? options_.ignore_index : (*document_)[0], document_index,
                    place);
      }
      ++at;
      ++document_index;
      begin = 0;
    }
    return true;
  }

  /// Takes what fits of the document at hand, but for its last token. Returns how many.
  int64_t take_inside(Window* window, int64_t at, int64_t document_index, int64_t begin) {
    const int64_t count = std::min(options_.sequence_length - at, document_->size() - 1 - next_);
    for (int64_t i = 0; window != nullptr && i < count; ++i) {
      window->set(at + i, (*document_)[next_ + i], (*document_)[next_ + i + 1], document_index, next_ + i - begin);
    }
    next_ += count;
    return count;
  }

  bool pad(Window* window, int64_t at, int64_t last, int64_t document_index, int64_t place) const {
    if (window == nullptr) return true;
    window->set(at, last, options_.ignore_index, document_index, place);
    for (int64_t i = at + 1; i < options_.sequence_length; ++i) {
      window->set(i, options_.pad_token, options_.ignore_index, document_index + 1, i - at - 1);
    }
    return true;
  }

  /// Puts the next document that has tokens in place of the one at hand. False if there is none.
  bool read_document() {
    while (std::optional<Batch> sample = stream_->next()) {
      if (!sample->is_tensor() || !is_document(sample->tensor())) {
        throw DataError(fmt::format("[PackedDocuments] a document must be a tensor int64 [L] on the CPU, got {}.",
                                    sample->describe()));
      }
      if (sample->tensor().size(0) == 0) continue;
      document_.emplace(sample->tensor().contiguous(), options_.end_of_text);
      next_ = 0;
      return true;
    }
    return false;
  }

  std::shared_ptr<const IterableDataset> documents_;  // which the stream may read from
  std::unique_ptr<SampleStream> stream_;
  PackingOptions options_;
  std::optional<Document> document_;
  int64_t next_ = 0;  // the token of the document that the next window begins with
};

}  // namespace

PackedDocuments::PackedDocuments(std::shared_ptr<const IterableDataset> documents, PackingOptions options)
    : documents_(std::move(documents)), options_(options) {
  if (options_.sequence_length < 1) {
    throw ConfigError(fmt::format("[PackedDocuments] sequence_length must be >= 1, got {}.", options_.sequence_length));
  }
  if (options_.end_of_text && *options_.end_of_text < 0) {
    throw ConfigError(fmt::format("[PackedDocuments] end_of_text must be >= 0, got {}.", *options_.end_of_text));
  }
}

std::unique_ptr<SampleStream> PackedDocuments::open(const SampleRandom& random) const {
  return std::make_unique<PackedStream>(documents_, documents_->open(random), options_);
}

}  // namespace levin
