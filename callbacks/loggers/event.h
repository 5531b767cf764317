#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "callbacks/loggers/histogram.h"
#include "callbacks/loggers/logger.h"
#include "trainer/core/metrics.h"

// TensorBoard's Event message (tensorboard/compat/proto/event.proto and its kin), one serialized event per function.
// `time`: seconds since 1970. Text that is not UTF-8 is mended, since a reader would reject the whole event.
namespace levin::event {

/// The first event of a file.
std::string file_version(double time);
/// Readers drop what earlier files of the folder have at `first_step` and later.
std::string session_start(double time, int64_t first_step);
/// Every metric under its name, and `epoch`, where given, as another scalar. TensorBoard keeps scalars as float.
std::string scalars(double time, int64_t step, const Metrics& metrics, std::optional<int64_t> epoch);
std::string text(double time, int64_t step, std::string_view name, std::string_view content);
std::string histogram(double time, int64_t step, std::string_view name, const Histogram& values);
/// `image` [C, H, W] as in Logger::log_image. Errors: ModelError if it is none.
std::string image(double time, int64_t step, std::string_view name, const at::Tensor& image);

/// For the HPARAMS tab. Values that read as a finite number, "true" or "false" are shown as such, others as text. No
/// experiment message is written: TensorBoard would then take the columns of all runs from the first run's alone.
std::string hparams_start(double time, const Logger::Hyperparameters& hyperparameters);
std::string hparams_end(double time, bool success);

}  // namespace levin::event
