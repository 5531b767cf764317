#include "trainer/report/metric_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace levin {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kSeparators = "_/.- ";

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kStages = {{{"train", "train"},
                                                                                   {"training", "train"},
                                                                                   {"val", "val"},
                                                                                   {"valid", "val"},
                                                                                   {"validation", "val"},
                                                                                   {"eval", "val"},
                                                                                   {"test", "test"}}};

constexpr std::array<std::string_view, 24> kLowerWords = {
    "loss", "error", "err", "mse", "mae",  "rmse",     "nll",     "perplexity", "ppl", "wer",     "cer",    "bpb",
    "bpc",  "fid",   "ece", "kl",  "elbo", "distance", "entropy", "seconds",    "ms",  "latency", "memory", "bce"};

constexpr std::array<std::string_view, 26> kHigherWords = {
    "acc",  "accuracy", "f1",     "auc",        "auroc", "ap",    "precision", "recall", "iou",
    "miou", "dice",     "bleu",   "rouge",      "r2",    "map",   "psnr",      "ssim",   "top1",
    "top5", "reward",   "return", "throughput", "mfu",   "flops", "score",     "mcc"};

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

Words words_of(std::string_view name) {
  Words words(1);
  for (const char c : lower_case(name)) {
    kSeparators.find(c) == std::string_view::npos ? words.back().push_back(c) : void(words.emplace_back());
  }
  return words;
}

std::string_view stage_of(std::string_view word) {
  const std::string lower = lower_case(word);
  for (const auto& [written, stage] : kStages) {
    if (lower == written) return stage;
  }
  return "";
}

/// Takes "_step" or "_epoch" off.
void take_interval(std::string_view& rest, std::string& interval) {
  for (const std::string_view word : {"step", "epoch"}) {
    if (rest.size() <= word.size() + 1 || !rest.ends_with(word)) continue;
    if (rest[rest.size() - word.size() - 1] != '_') continue;
    rest.remove_suffix(word.size() + 1);
    interval = word;
    return;
  }
}

/// Takes the stage off the front, or else off the end.
void take_stage(std::string_view& rest, std::string& stage) {
  const size_t first_end = rest.find_first_of(kSeparators);
  if (first_end == std::string_view::npos) return;
  const size_t last_begin = rest.find_last_of(kSeparators) + 1;
  if (stage = stage_of(rest.substr(0, first_end)); !stage.empty() && first_end + 1 < rest.size()) {
    rest.remove_prefix(first_end + 1);
  } else if (stage = stage_of(rest.substr(last_begin)); !stage.empty() && last_begin > 1) {
    rest = rest.substr(0, last_begin - 1);
  } else {
    stage.clear();
  }
}

bool has_word(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool has_any(const Words& words, const auto& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](std::string_view word) { return has_word(words, word); });
}

bool is_learning_rate(const Words& words) {
  return words[0] == "lr" || (words.size() > 1 && words[0] == "learning" && words[1] == "rate");
}

bool is_rate(const Words& words) { return has_word(words, "per") && has_any(words, Words{"second", "sec", "s"}); }

bool is_throughput(const Words& words) {
  return is_rate(words) || has_any(words, Words{"throughput", "seconds", "ms", "mfu", "flops", "memory"});
}

}  // namespace

MetricName parse_metric_name(std::string_view name) {
  MetricName result;
  std::string_view rest = name;
  const Words words = words_of(name);
  if (is_learning_rate(words)) {
    result.group = MetricGroup::kLearningRate;
    const bool is_other = has_word(words, "momentum") || (has_word(words, "weight") && has_word(words, "decay"));
    result.quantity = is_other ? std::string(name) : "learning rate";
    return result;
  }
  if (is_throughput(words)) {
    result.group = MetricGroup::kThroughput;
    result.quantity = name;
    return result;
  }
  take_interval(rest, result.interval);
  take_stage(rest, result.stage);
  result.quantity = rest.empty() ? "(no name)" : std::string(rest);
  return result;
}

Better better_values(std::string_view name) {
  const Words words = words_of(name);
  if (is_learning_rate(words)) return Better::kUnknown;
  if (is_rate(words)) return Better::kHigher;
  if (has_any(words, kLowerWords)) return Better::kLower;
  return has_any(words, kHigherWords) ? Better::kHigher : Better::kUnknown;
}

}  // namespace levin
