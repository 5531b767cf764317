#include "callbacks/loggers/event.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "callbacks/loggers/png.h"
#include "callbacks/loggers/utf8.h"
#include "trainer/core/error.h"

namespace levin::event {
namespace {

using Writer = protozero::pbf_writer;

// Field numbers of the messages.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SessionLogField { kSessionStatus = 1 };
enum SummaryField { kValue = 1 };
enum ValueField { kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9 };
enum MetadataField { kPluginData = 1, kDataClass = 4 };
enum PluginDataField { kPluginName = 1, kPluginContent = 2 };
enum TensorField { kDtype = 1, kShape = 2, kStringValue = 8 };
enum ShapeField { kDim = 2 };
enum DimField { kSize = 1 };
enum HistogramField { kMin = 1, kMax = 2, kNum = 3, kSum = 4, kSumSquares = 5, kBucketLimit = 6, kBucket = 7 };
enum ImageField { kHeight = 1, kWidth = 2, kColorspace = 3, kEncodedImage = 4 };

constexpr int kSessionStart = 1;     // SessionLog.SessionStatus.START
constexpr int kDataClassTensor = 2;  // DataClass.DATA_CLASS_TENSOR
constexpr int kDtypeFloat = 1;       // DataType.DT_FLOAT
constexpr int kDtypeString = 7;      // DataType.DT_STRING

std::string begin_event(double time, int64_t step) {
  std::string bytes;
  Writer event(bytes);
  event.add_double(kWallTime, time);
  event.add_int64(kStep, step);
  return bytes;
}

// An event with one value; fill(value) adds what is behind the tag.
template <class Fill>
std::string event_of_value(double time, int64_t step, std::string_view tag, const Fill& fill) {
  std::string bytes = begin_event(time, step);
  Writer event(bytes);
  Writer summary(event, kSummary);
  Writer value(summary, kValue);
  value.add_string(kTag, to_utf8(tag));
  fill(value);
  value.commit();
  summary.commit();
  return bytes;
}

void add_tensor_metadata(Writer& value, const char* plugin, const std::string& content) {
  Writer metadata(value, kMetadata);
  Writer plugin_data(metadata, kPluginData);
  plugin_data.add_string(kPluginName, plugin);
  if (!content.empty()) plugin_data.add_bytes(kPluginContent, content);
  plugin_data.commit();
  metadata.add_enum(kDataClass, kDataClassTensor);
}

void add_dim(Writer& tensor, int64_t size) {
  Writer shape(tensor, kShape);
  Writer dim(shape, kDim);
  dim.add_int64(kSize, size);
}

std::string shape_text(const at::Tensor& image) {
  return fmt::format("[{}] of {}", fmt::join(image.sizes(), ", "), c10::toString(image.scalar_type()));
}

// [C, H, W] to bytes in the order of PNG, [H, W, C].
std::vector<uint8_t> pixels_of(const at::Tensor& image) {
  const bool is_byte = image.scalar_type() == at::kByte;
  const at::Tensor values = image.detach().to(at::kCPU, at::kFloat).permute({1, 2, 0}).contiguous();
  const float* data = values.const_data_ptr<float>();
  std::vector<uint8_t> pixels(static_cast<size_t>(values.numel()));
  std::transform(data, data + pixels.size(), pixels.begin(), [is_byte](float x) {
    if (is_byte) return static_cast<uint8_t>(x);
    return std::isnan(x) ? uint8_t{0} : static_cast<uint8_t>(std::lround(std::clamp(x, 0.0F, 1.0F) * 255.0F));
  });
  return pixels;
}

}  // namespace

std::string file_version(double time) {
  std::string bytes;
  Writer event(bytes);
  event.add_double(kWallTime, time);
  event.add_string(kFileVersion, "brain.Event:2");
  return bytes;
}

std::string session_start(double time, int64_t first_step) {
  std::string bytes = begin_event(time, first_step);
  Writer event(bytes);
  Writer session(event, kSessionLog);
  session.add_enum(kSessionStatus, kSessionStart);
  session.commit();
  return bytes;
}

std::string scalars(double time, int64_t step, const Metrics& metrics, std::optional<int64_t> epoch) {
  std::string bytes = begin_event(time, step);
  Writer event(bytes);
  Writer summary(event, kSummary);
  const auto add = [&summary](std::string_view name, double scalar) {
    Writer value(summary, kValue);
    value.add_string(kTag, to_utf8(name));
    value.add_float(kSimpleValue, static_cast<float>(scalar));
  };
  for (const auto& [name, value] : metrics) add(name, value);
  if (epoch) add("epoch", static_cast<double>(*epoch));
  summary.commit();
  return bytes;
}

std::string text(double time, int64_t step, std::string_view name, std::string_view content) {
  return event_of_value(time, step, name, [&](Writer& value) {
    {
      Writer tensor(value, kTensor);
      tensor.add_enum(kDtype, kDtypeString);
      add_dim(tensor, 1);
      tensor.add_bytes(kStringValue, to_utf8(content));
    }
    add_tensor_metadata(value, "text", "");
  });
}

std::string histogram(double time, int64_t step, std::string_view name, const Histogram& values) {
  return event_of_value(time, step, name, [&](Writer& value) {
    Writer histogram(value, kHistogram);
    histogram.add_double(kMin, values.min);
    histogram.add_double(kMax, values.max);
    histogram.add_double(kNum, values.num);
    histogram.add_double(kSum, values.sum);
    histogram.add_double(kSumSquares, values.sum_squares);
    histogram.add_packed_double(kBucketLimit, values.limits.begin(), values.limits.end());
    histogram.add_packed_double(kBucket, values.counts.begin(), values.counts.end());
  });
}

std::string image(double time, int64_t step, std::string_view name, const at::Tensor& image) {
  const bool has_shape = image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3) && image.numel() > 0;
  if (!has_shape || !(image.scalar_type() == at::kByte || image.is_floating_point())) {
    throw ModelError(
        fmt::format("[TensorBoardLogger] The image \"{}\" must be [C, H, W] with C 1 or 3, of uint8 or floating in "
                    "[0, 1], got {}.",
                    name, shape_text(image)));
  }
  const auto channels = static_cast<uint32_t>(image.size(0));
  const auto height = static_cast<uint32_t>(image.size(1));
  const auto width = static_cast<uint32_t>(image.size(2));
  const std::string png = encode_png(pixels_of(image), height, width, channels);
  return event_of_value(time, step, name, [&](Writer& value) {
    Writer message(value, kImage);
    message.add_int32(kHeight, static_cast<int32_t>(height));
    message.add_int32(kWidth, static_cast<int32_t>(width));
    message.add_int32(kColorspace, static_cast<int32_t>(channels));
    message.add_bytes(kEncodedImage, png);
  });
}

// ---- Hyperparameters (tensorboard/plugins/hparams/plugin_data.proto)

namespace {

enum HparamsField { kSessionStartInfo = 3, kSessionEndInfo = 4 };
enum StartInfoField { kHparams = 1, kStartTime = 5 };
enum EndInfoField { kStatus = 1, kEndTime = 2 };
enum MapEntryField { kKey = 1, kEntryValue = 2 };
enum StructValueField { kNumber = 2, kString = 3, kBool = 4 };  // google.protobuf.Value
enum Status { kSuccess = 1, kFailure = 2 };

void add_hparam(Writer& start, const std::string& name, const std::string& text) {
  Writer entry(start, kHparams);
  entry.add_string(kKey, to_utf8(name));
  Writer value(entry, kEntryValue);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) {
    value.add_double(kNumber, number);
  } else if (text == "true" || text == "false") {
    value.add_bool(kBool, text == "true");
  } else {
    value.add_string(kString, to_utf8(text));
  }
}

// The plugin reads its data from the metadata; the tensor beside it is empty.
std::string hparams_event(double time, const char* tag, const std::string& content) {
  return event_of_value(time, 0, tag, [&](Writer& value) {
    add_tensor_metadata(value, "hparams", content);
    Writer tensor(value, kTensor);
    tensor.add_enum(kDtype, kDtypeFloat);
    add_dim(tensor, 0);
  });
}

}  // namespace

std::string hparams_start(double time, const Logger::Hyperparameters& hyperparameters) {
  std::string content;
  Writer data(content);
  Writer start(data, kSessionStartInfo);
  for (const auto& [name, value] : hyperparameters) add_hparam(start, name, value);
  start.add_double(kStartTime, time);
  start.commit();
  return hparams_event(time, "_hparams_/session_start_info", content);
}

std::string hparams_end(double time, bool success) {
  std::string content;
  Writer data(content);
  Writer end(data, kSessionEndInfo);
  end.add_enum(kStatus, success ? kSuccess : kFailure);
  end.add_double(kEndTime, time);
  end.commit();
  return hparams_event(time, "_hparams_/session_end_info", content);
}

}  // namespace levin::event
