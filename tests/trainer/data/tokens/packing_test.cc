#include "trainer/data/tokens/packing.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"
#include "trainer/data/iterable_loader.h"

namespace levin {
namespace {

using testing::HasSubstr;
using Values = std::vector<int64_t>;

/// The given documents, with or without a state of its stream; counts how many are read.
class Documents final : public IterableDataset {
 public:
  Documents(std::vector<Values> documents, bool has_state) : documents_(std::move(documents)), has_state_(has_state) {}

  std::unique_ptr<SampleStream> open(const SampleRandom& /*random*/) const override {
    return std::make_unique<Stream>(*this);
  }
  int64_t num_read() const { return num_read_; }

 private:
  class Stream final : public SampleStream {
   public:
    explicit Stream(const Documents& owner) : owner_(owner) {}
    std::optional<Batch> next() override {
      if (next_ == owner_.documents_.size()) return std::nullopt;
      ++owner_.num_read_;
      return Batch(at::tensor(owner_.documents_[next_++], at::kLong));
    }
    std::optional<StateDict> state() const override {
      if (!owner_.has_state_) return std::nullopt;
      StateDict state;
      state.set("next", static_cast<int64_t>(next_));
      return state;
    }
    void load_state(const StateDict& state) override { next_ = static_cast<size_t>(state.integer("next")); }

   private:
    const Documents& owner_;
    size_t next_ = 0;
  };

  std::vector<Values> documents_;
  bool has_state_;
  mutable int64_t num_read_ = 0;
};

struct Packed {
  Values input;
  Values target;
  Values document;
  Values position;
  bool operator==(const Packed&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Packed& packed) {
  for (const Values& values : {packed.input, packed.target, packed.document, packed.position}) {
    out << testing::PrintToString(values) << " ";
  }
  return out;
}

Packed packed_of(const Batch& sample) {
  return {values_of(sample["input"].tensor()), values_of(sample["target"].tensor()),
          values_of(sample["document"].tensor()), values_of(sample["position"].tensor())};
}

std::vector<Packed> rest(SampleStream& stream) {
  std::vector<Packed> windows;
  while (const auto sample = stream.next()) windows.push_back(packed_of(*sample));
  EXPECT_FALSE(stream.next().has_value());
  return windows;
}

std::vector<Packed> pack(const std::vector<Values>& documents, PackingOptions options) {
  const PackedDocuments packed(std::make_shared<Documents>(documents, false), options);
  return rest(*packed.open({}));
}

TEST(PackedDocumentsTest, FillsWindowsWithDocumentsAndTheirEnds) {
  EXPECT_EQ(pack({{1, 2}, {3, 4, 5}, {6, 7, 8, 9}}, {.sequence_length = 4, .end_of_text = 0}),
            (std::vector<Packed>{{{1, 2, 0, 3}, {2, 0, 3, 4}, {0, 0, 0, 1}, {0, 1, 2, 0}},
                                 {{4, 5, 0, 6}, {5, 0, 6, 7}, {0, 0, 0, 1}, {0, 1, 2, 0}}}));
}

TEST(PackedDocumentsTest, WithoutAnEndDocumentsFollowEachOtherDirectly) {
  EXPECT_EQ(pack({{1, 2}, {3, 4, 5}}, {.sequence_length = 4}),
            (std::vector<Packed>{{{1, 2, 3, 4}, {2, 3, 4, 5}, {0, 0, 1, 1}, {0, 1, 0, 1}}}));
}

TEST(PackedDocumentsTest, ALongDocumentGoesOnWithPositionsFromTheWindowsStart) {
  EXPECT_EQ(pack({{1, 2, 3, 4, 5, 6, 7, 8}}, {.sequence_length = 3, .end_of_text = 0}),
            (std::vector<Packed>{{{1, 2, 3}, {2, 3, 4}, {0, 0, 0}, {0, 1, 2}},
                                 {{4, 5, 6}, {5, 6, 7}, {0, 0, 0}, {0, 1, 2}}}));
}

TEST(PackedDocumentsTest, EachTokenButTheFirstIsATargetOnce) {
  std::vector<Values> documents;
  Values all;
  for (int64_t length = 0; length < 40; ++length) {
    Values document;
    for (int64_t i = 0; i < length * 7 % 23; ++i) document.push_back(static_cast<int64_t>(all.size()) + i + 1);
    all.insert(all.end(), document.begin(), document.end());
    documents.push_back(std::move(document));
  }
  for (const int64_t length : {1, 2, 7, 50}) {
    Values inputs;
    Values targets;
    for (const Packed& window : pack(documents, {.sequence_length = length})) {
      inputs.insert(inputs.end(), window.input.begin(), window.input.end());
      targets.insert(targets.end(), window.target.begin(), window.target.end());
    }
    ASSERT_EQ(targets.size(), (all.size() - 1) / static_cast<size_t>(length) * static_cast<size_t>(length));
    const auto count = static_cast<int64_t>(targets.size());
    EXPECT_EQ(inputs, Values(all.begin(), all.begin() + count));
    EXPECT_EQ(targets, Values(all.begin() + 1, all.begin() + 1 + count));
  }
}

TEST(PackedDocumentsTest, PadsTheLastWindowWhereAsked) {
  const PackingOptions options = {.sequence_length = 5, .end_of_text = 0, .pads_last = true, .pad_token = 99};
  EXPECT_EQ(pack({{1, 2}, {3}}, options),
            (std::vector<Packed>{{{1, 2, 0, 3, 0}, {2, 0, 3, 0, -100}, {0, 0, 0, 1, 1}, {0, 1, 2, 0, 1}}}));
  EXPECT_EQ(pack({{1, 2}}, options),
            (std::vector<Packed>{{{1, 2, 0, 99, 99}, {2, 0, -100, -100, -100}, {0, 0, 0, 1, 1}, {0, 1, 2, 0, 1}}}));
  // All targets have been dealt: nothing is left to learn from.
  EXPECT_EQ(pack({{1, 2, 3, 4, 5}}, options).size(), 1u);
  EXPECT_EQ(pack({{1, 2, 3, 4, 5, 6}}, options).size(), 2u);
}

TEST(PackedDocumentsTest, BordersBetweenDocumentsCanBeIgnored) {
  EXPECT_EQ(
      pack({{1, 2}, {3, 4, 5}}, {.sequence_length = 4, .end_of_text = 0, .ignores_borders = true, .ignore_index = -1})
          .front()
          .target,
      (Values{2, 0, -1, 4}));
}

TEST(PackedDocumentsTest, DocumentsWithoutTokensArePassedOver) {
  EXPECT_EQ(pack({{}, {1, 2}, {}, {}, {3}, {}}, {.sequence_length = 4, .end_of_text = 0}),
            pack({{1, 2}, {3}}, {.sequence_length = 4, .end_of_text = 0}));
  EXPECT_TRUE(pack({{}, {}}, {.sequence_length = 2, .end_of_text = 0, .pads_last = true}).empty());
  EXPECT_TRUE(pack({}, {.sequence_length = 2, .pads_last = true}).empty());
  EXPECT_TRUE(pack({{5}}, {.sequence_length = 1, .pads_last = true}).empty());
}

TEST(PackedDocumentsTest, RefusesOptionsAndDocumentsThatDoNotFit) {
  const auto documents = std::make_shared<Documents>(std::vector<Values>{}, false);
  EXPECT_THAT(error_text<ConfigError>([&] { PackedDocuments(documents, {.sequence_length = 0}); }), HasSubstr("got 0"));
  EXPECT_THAT(error_text<ConfigError>([&] { PackedDocuments(documents, {.end_of_text = -1}); }), HasSubstr("got -1"));

  class One final : public IterableDataset {
   public:
    explicit One(Batch sample) : sample_(std::move(sample)) {}
    std::unique_ptr<SampleStream> open(const SampleRandom& /*random*/) const override {
      class Stream final : public SampleStream {
       public:
        explicit Stream(Batch sample) : sample_(std::move(sample)) {}
        std::optional<Batch> next() override { return sample_; }

       private:
        Batch sample_;
      };
      return std::make_unique<Stream>(sample_);
    }

   private:
    Batch sample_;
  };
  for (const Batch& wrong : {Batch(at::zeros({3}, at::kInt)), Batch(at::zeros({1, 3}, at::kLong)),
                             Batch::of(at::zeros({3}, at::kLong)), Batch(at::Tensor())}) {
    const PackedDocuments packed(std::make_shared<One>(wrong), {.sequence_length = 4});
    EXPECT_THAT(error_text<DataError>([&] { packed.open({})->next(); }), HasSubstr("must be a tensor int64 [L]"));
  }
}

class PackedResumeTest : public testing::TestWithParam<std::tuple<bool, int64_t, bool>> {
 protected:
  PackedResumeTest() {
    int64_t token = 1;
    for (const int64_t length : {3, 1, 20, 0, 4, 5, 11, 2, 2, 2, 9, 1}) {
      Values document;
      for (int64_t i = 0; i < length; ++i) document.push_back(token++);
      texts_.push_back(std::move(document));
    }
  }

  std::unique_ptr<IterableLoader> make_loader(int64_t batch_size = 1) const {
    const auto [has_state, num_workers, pads] = GetParam();
    documents_ = std::make_shared<Documents>(texts_, has_state);
    auto loader = std::make_unique<IterableLoader>(
        std::make_shared<PackedDocuments>(documents_,
                                          PackingOptions{.sequence_length = 5, .end_of_text = 0, .pads_last = pads}),
        LoaderOptions{.batch_size = batch_size, .num_workers = num_workers, .prefetch_factor = 3});
    loader->attach({});
    return loader;
  }

  static std::vector<Packed> rest(IterableLoader& loader) {
    std::vector<Packed> windows;
    while (const auto batch = loader.next()) windows.push_back(packed_of(*batch));
    return windows;
  }

  std::vector<Values> texts_;
  mutable std::shared_ptr<Documents> documents_;
};

TEST_P(PackedResumeTest, GoesOnExactlyAfterEachBatch) {
  const std::vector<Packed> expected = rest(*make_loader());
  ASSERT_GT(expected.size(), 10u);
  for (size_t count = 0; count <= expected.size(); ++count) {
    const auto stopped = make_loader();
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(packed_of(*stopped->next()), expected[i]);
    const StateDict state = stopped->state();
    const auto resumed = make_loader();
    resumed->load_state(state);
    EXPECT_EQ(rest(*resumed), std::vector<Packed>(expected.begin() + static_cast<int64_t>(count), expected.end()))
        << count;
  }
}

TEST_P(PackedResumeTest, AStateSavesReadingAgain) {
  const auto stopped = make_loader();
  for (int i = 0; i < 6; ++i) stopped->next();
  const StateDict state = stopped->state();
  stopped->stop();
  const auto resumed = make_loader();
  resumed->load_state(state);
  rest(*resumed);
  const bool has_state = std::get<0>(GetParam());
  EXPECT_EQ(documents_->num_read() < static_cast<int64_t>(texts_.size()), has_state);
}

TEST_P(PackedResumeTest, BatchesAreStackedWindows) {
  const std::vector<Packed> windows = rest(*make_loader());
  const auto loader = make_loader(3);
  const Batch batch = *loader->next();
  EXPECT_EQ(batch["input"].tensor().sizes(), (at::IntArrayRef{3, 5}));
  const Values inputs = values_of(batch["input"].tensor());
  EXPECT_EQ(Values(inputs.begin() + 10, inputs.end()), windows[2].input);
}

INSTANTIATE_TEST_SUITE_P(All, PackedResumeTest,
                         testing::Combine(testing::Bool(), testing::Values(int64_t{0}, int64_t{2}), testing::Bool()));

TEST(PackedDocumentsTest, TheStateSharesTheDocumentsMemory) {
  const PackedDocuments packed(std::make_shared<Documents>(std::vector<Values>{Values(100000, 7)}, true),
                               {.sequence_length = 10});
  const auto stream = packed.open({});
  stream->next();
  const StateDict first = *stream->state();
  const StateDict second = *stream->state();
  EXPECT_EQ(first.tensor("tokens").size(0), 99990);
  EXPECT_EQ(first.tensor("tokens").const_data_ptr(), second.tensor("tokens").const_data_ptr());
}

TEST(PackedDocumentsTest, RefusesAStateThatIsNotItsOwn) {
  const PackedDocuments packed(std::make_shared<Documents>(std::vector<Values>{{1, 2, 3}}, true),
                               {.sequence_length = 2});
  StateDict state;
  state.set("documents.next", int64_t{1});
  state.set("has_document", int64_t{1});
  state.set("tokens", at::zeros({2, 2}, at::kLong));
  EXPECT_THROW(packed.open({})->load_state(state), CheckpointError);
  EXPECT_THROW(packed.open({})->load_state({}), CheckpointError);
}

}  // namespace
}  // namespace levin
