#include "trainer/core/module_state.h"

#include <ATen/ops/empty.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/state_file.h"
#include "trainer/core/files/safetensors.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A linear layer with a counter; no bias if it is undefined.
struct LayerImpl : torch::nn::Module {
  LayerImpl(at::Tensor weight_value, at::Tensor bias_value) {
    weight = register_parameter("weight", std::move(weight_value));
    bias = register_parameter("bias", std::move(bias_value), /*requires_grad=*/false);
    count = register_buffer("count", tensor_of(std::string(8, '\0'), {}, at::kLong));
  }
  at::Tensor weight, bias, count;
};

struct Net : torch::nn::Module {
  Net() {
    fc = register_module("fc", std::make_shared<LayerImpl>(floats({0, 0, 0, 0, 0, 0}).view({2, 3}), floats({0, 0})));
  }
  std::shared_ptr<LayerImpl> fc;
};

// Encoder and decoder share their weight; the biases are undefined.
struct TiedNet : torch::nn::Module {
  TiedNet() {
    encoder = register_module("encoder", std::make_shared<LayerImpl>(floats({1, 2}), at::Tensor()));
    decoder = register_module("decoder", std::make_shared<LayerImpl>(encoder->weight, at::Tensor()));
  }
  std::shared_ptr<LayerImpl> encoder, decoder;
};

std::vector<std::string> names_of(const StateDict& state) {
  std::vector<std::string> names;
  for (const auto& [name, value] : state) names.push_back(name);
  return names;
}

StateDict state_of(std::vector<StateDict::Entry> entries) {
  StateDict state;
  for (auto& [name, value] : entries) state.set(name, value);
  return state;
}

const at::Tensor kCount = tensor_of(std::string("\5\0\0\0\0\0\0\0", 8), {}, at::kLong);

StateDict net_state() {
  return state_of(
      {{"fc.weight", floats({0, 1, 2, 3, 4, 5}).view({2, 3})}, {"fc.bias", floats({1, 2})}, {"fc.count", kCount}});
}

// Loads what must not fit: returns the error, and checks that the module has not changed.
std::string refusal_of(torch::nn::Module& module, const StateDict& state) {
  std::vector<std::string> before;
  for (const auto& [name, value] : module_state(module)) before.push_back(bytes_of(std::get<at::Tensor>(value)));
  const std::string text = checkpoint_error_of([&] { load_module_state(module, state); });
  std::vector<std::string> after;
  for (const auto& [name, value] : module_state(module)) after.push_back(bytes_of(std::get<at::Tensor>(value)));
  EXPECT_EQ(before, after);
  return text;
}

TEST(ModuleStateTest, HasParametersThenBuffersAndShareTheirMemory) {
  Net net;
  const StateDict state = module_state(net);
  EXPECT_THAT(names_of(state), ElementsAre("fc.weight", "fc.bias", "fc.count"));
  EXPECT_FALSE(state.tensor("fc.weight").requires_grad());
  EXPECT_EQ(state.tensor("fc.weight").const_data_ptr(), net.fc->weight.const_data_ptr());
}

TEST(ModuleStateTest, UndefinedTensorsAreLeftOut) {
  TiedNet net;
  EXPECT_THAT(names_of(module_state(net)),
              ElementsAre("encoder.weight", "decoder.weight", "encoder.count", "decoder.count"));
}

TEST(ModuleStateTest, ParameterAndBufferOfOneNameAreRefused) {
  torch::nn::Module module;
  module.register_parameter("x", floats({1}));
  try {
    module.register_buffer("x", floats({2}));
    module_state(module);
    ADD_FAILURE();
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), HasSubstr("both called \"x\""));
  }
}

TEST(ModuleStateTest, ValuesAreLoadedInPlace) {
  Net net;
  const void* memory = net.fc->weight.const_data_ptr();
  load_module_state(net, net_state());
  EXPECT_EQ(bytes_of(net.fc->weight), bytes_of(floats({0, 1, 2, 3, 4, 5})));
  EXPECT_EQ(bytes_of(net.fc->bias), bytes_of(floats({1, 2})));
  EXPECT_EQ(bytes_of(net.fc->count), bytes_of(kCount));
  EXPECT_EQ(net.fc->weight.const_data_ptr(), memory);
  EXPECT_TRUE(net.fc->weight.requires_grad());
  EXPECT_TRUE(net.fc->weight.is_leaf());
  EXPECT_FALSE(net.fc->bias.requires_grad());
}

TEST(ModuleStateTest, DtypeOfTheModuleIsKept) {
  Net net;
  StateDict state = state_of({{"fc.weight", floats({0, 1, 2, 3, 4, 5}).view({2, 3}).to(at::kBFloat16)},
                              {"fc.bias", floats({1, 2}).to(at::kDouble)},
                              {"fc.count", kCount}});
  load_module_state(net, state);
  EXPECT_EQ(net.fc->weight.scalar_type(), at::kFloat);
  EXPECT_EQ(bytes_of(net.fc->weight), bytes_of(floats({0, 1, 2, 3, 4, 5})));
}

TEST(ModuleStateTest, NonContiguousParametersAreLoaded) {
  torch::nn::Module module;
  const at::Tensor weight = module.register_parameter("weight", floats({0, 0, 0, 0, 0, 0}).view({3, 2}).t());
  load_module_state(module, state_of({{"weight", floats({0, 1, 2, 3, 4, 5}).view({2, 3})}}));
  EXPECT_EQ(bytes_of(weight.contiguous()), bytes_of(floats({0, 1, 2, 3, 4, 5})));
}

TEST(ModuleStateTest, EveryMisfitIsListedAndTheModuleUntouched) {
  Net net;
  const std::string text = refusal_of(net, state_of({{"fc.weight", floats({1, 2, 3, 4, 5, 6}).view({3, 2})},
                                                     {"fc.gain", floats({1})},
                                                     {"head.weight", floats({1})}}));
  EXPECT_THAT(text, HasSubstr("missing: fc.bias, fc.count"));
  EXPECT_THAT(text, HasSubstr("unexpected: fc.gain, head.weight"));
  EXPECT_THAT(text, HasSubstr("mismatched: fc.weight ([2, 3] in the module, [3, 2] in the checkpoint)"));
}

TEST(ModuleStateTest, OneMisfitLeavesTheWholeModuleUntouched) {
  Net net;
  const StateDict state = state_of(
      {{"fc.weight", floats({0, 1, 2, 3, 4, 5}).view({2, 3})}, {"fc.bias", floats({1})}, {"fc.count", kCount}});
  const std::string text = refusal_of(net, state);
  EXPECT_THAT(text, HasSubstr("mismatched: fc.bias ([2] in the module, [1] in the checkpoint)"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("missing")), Not(HasSubstr("unexpected"))));
}

// Field case A6: a module without fc.bias.
TEST(ModuleStateTest, ModuleThatLacksABiasNamesItUnexpected) {
  torch::nn::Module module;
  const auto fc = std::make_shared<LayerImpl>(floats({0, 0, 0, 0, 0, 0}).view({2, 3}), at::Tensor());
  module.register_module("fc", std::static_pointer_cast<torch::nn::Module>(fc));
  EXPECT_THAT(refusal_of(module, net_state()), HasSubstr("unexpected: fc.bias"));
}

TEST(ModuleStateTest, CutFileLeavesTheModuleUntouched) {
  const TestFolder test;
  Net net;
  write_safetensors(test / "a", {{"fc.weight", floats({0, 1, 2, 3, 4, 5}).view({2, 3})}, {"fc.bias", floats({1, 2})}});
  const std::string bytes = read_bytes(test / "a");
  write_bytes(test / "a", bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(checkpoint_error_of([&] { load_module_state(net, read_state_tensors(test / "a")); }),
              HasSubstr("lie outside of the 31 bytes of data"));
  EXPECT_EQ(bytes_of(net.fc->weight), bytes_of(floats({0, 0, 0, 0, 0, 0})));
}

TEST(ModuleStateTest, ValuesOfTheWrongKindAreRefused) {
  Net net;
  const at::Tensor weight = floats({0, 1, 2, 3, 4, 5}).view({2, 3});
  const StateDict state =
      state_of({{"fc.weight", weight}, {"fc.bias", int64_t{1}}, {"fc.count", floats({5}).squeeze()}});
  const std::string text = refusal_of(net, state);
  EXPECT_THAT(text, HasSubstr("fc.bias (not a tensor in the checkpoint)"));
  EXPECT_THAT(text, HasSubstr("fc.count (Long in the module, Float in the checkpoint)"));
}

TEST(ModuleStateTest, ModulesThatCannotBeWrittenAreRefused) {
  const StateDict state = state_of({{"x", floats({1, 2})}});
  torch::nn::Module meta;
  meta.register_buffer("x", at::empty({2}, at::TensorOptions(at::kMeta)));
  EXPECT_THAT(checkpoint_error_of([&] { load_module_state(meta, state); }),
              HasSubstr("x (without memory in the module)"));
  torch::nn::Module expanded;
  expanded.register_buffer("x", floats({7}).expand({2}));
  EXPECT_THAT(checkpoint_error_of([&] { load_module_state(expanded, state); }),
              HasSubstr("x (several elements share memory in the module"));
}

TEST(ModuleStateTest, TiedWeightsAreSavedOnceAndStayTied) {
  const TestFolder test;
  TiedNet net;
  save_checkpoint(test / "x", {.model = module_state(net), .optimizer = {}, .run = {}});
  EXPECT_EQ(SafetensorsFile(test / "x/model.safetensors").entries().size(), 3u);  // the weight and two counts

  TiedNet other;
  {
    const c10::AutoGradMode no_grad(false);
    other.encoder->weight.fill_(9);
  }
  load_module_state(other, load_checkpoint(test / "x").model);
  EXPECT_EQ(bytes_of(other.decoder->weight), bytes_of(floats({1, 2})));
  const c10::AutoGradMode no_grad(false);
  other.encoder->weight.fill_(5);
  EXPECT_EQ(bytes_of(other.decoder->weight), bytes_of(floats({5, 5})));
}

TEST(ModuleStateTest, OneNameOfATiedWeightIsEnough) {
  for (const char* name : {"encoder.weight", "decoder.weight"}) {
    TiedNet net;
    load_module_state(net, state_of({{name, floats({3, 4})}, {"encoder.count", kCount}, {"decoder.count", kCount}}));
    EXPECT_EQ(bytes_of(net.encoder->weight), bytes_of(floats({3, 4}))) << name;
  }
}

TEST(ModuleStateTest, TiedWeightWithoutAnyNameIsMissing) {
  TiedNet net;
  EXPECT_THAT(refusal_of(net, state_of({{"encoder.count", kCount}, {"decoder.count", kCount}})),
              HasSubstr("missing: encoder.weight, decoder.weight"));
}

TEST(ModuleStateTest, DifferentValuesForATiedWeightAreRefused) {
  TiedNet net;
  StateDict state = state_of({{"encoder.weight", floats({3, 4})},
                              {"decoder.weight", floats({3, 5})},
                              {"encoder.count", kCount},
                              {"decoder.count", kCount}});
  EXPECT_THAT(refusal_of(net, state),
              HasSubstr("encoder.weight = decoder.weight (tied in the module, different values in the checkpoint)"));
}

TEST(ModuleStateTest, EqualValuesForATiedWeightAreLoadedEvenIfNan) {
  TiedNet net;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  load_module_state(net, state_of({{"encoder.weight", floats({3, nan})},
                                   {"decoder.weight", floats({3, nan})},
                                   {"encoder.count", kCount},
                                   {"decoder.count", kCount}}));
  EXPECT_EQ(bytes_of(net.encoder->weight), bytes_of(floats({3, nan})));
}

TEST(ModuleStateTest, TiedCheckpointLoadsIntoAnUntiedModule) {
  const TestFolder test;
  TiedNet tied;
  save_checkpoint(test / "x", {.model = module_state(tied), .optimizer = {}, .run = {}});
  torch::nn::Module untied;
  const auto encoder = std::make_shared<LayerImpl>(floats({0, 0}), at::Tensor());
  const auto decoder = std::make_shared<LayerImpl>(floats({0, 0}), at::Tensor());
  untied.register_module("encoder", std::static_pointer_cast<torch::nn::Module>(encoder));
  untied.register_module("decoder", std::static_pointer_cast<torch::nn::Module>(decoder));
  load_module_state(untied, load_checkpoint(test / "x").model);
  EXPECT_EQ(bytes_of(decoder->weight), bytes_of(floats({1, 2})));
  const c10::AutoGradMode no_grad(false);
  encoder->weight.fill_(5);
  EXPECT_EQ(bytes_of(decoder->weight), bytes_of(floats({1, 2})));
}

TEST(ModuleStateTest, OwnStateLoadsBackUnchanged) {
  Net net;
  load_module_state(net, net_state());
  load_module_state(net, module_state(net));
  EXPECT_EQ(bytes_of(net.fc->bias), bytes_of(floats({1, 2})));
}

}  // namespace
}  // namespace levin
