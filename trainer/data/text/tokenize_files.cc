#include "trainer/data/text/tokenize_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

/// Text that is encoded at once: parts of documents, one behind the other.
struct Chunk {
  struct Part {
    size_t end = 0;  // in the text; it begins where the one before ends
    bool ends_document = true;
  };
  std::string text;
  std::vector<Part> parts;
  TokenizeProgress progress;  // once it is done
};

/// Reads files into chunks.
class ChunkReader {
 public:
  ChunkReader(const Tokenizer& tokenizer, std::span<const std::filesystem::path> files, const TokenizeOptions& options)
      : tokenizer_(tokenizer), files_(files), options_(options) {
    for (const auto& file : files) {
      std::error_code error;
      const auto size = static_cast<int64_t>(std::filesystem::file_size(file, error));
      // Opening it says what is wrong, before any work is done.
      if (error) DocumentReader(file, options.documents);
      done_.total_disk_bytes += error ? 0 : size;
      sizes_.push_back(error ? 0 : size);
    }
  }

  /// nullptr at the end.
  std::unique_ptr<Chunk> next() {
    auto chunk = std::make_unique<Chunk>();
    while (chunk->text.size() < options_.chunk_bytes && open()) {
      const auto part = reader_->next();
      if (!part) {
        close();
        continue;
      }
      chunk->text += part->text;
      chunk->parts.push_back({chunk->text.size(), part->ends_document});
      done_.num_text_bytes += static_cast<int64_t>(part->text.size());
      if (part->ends_document) ++done_.num_documents;
    }
    chunk->progress = done_;
    if (reader_) chunk->progress.disk_bytes += reader_->disk_bytes();
    return chunk->parts.empty() ? nullptr : std::move(chunk);
  }

  const TokenizeProgress& done() const { return done_; }

 private:
  bool open() {
    if (!reader_ && file_ < files_.size()) {
      reader_ = std::make_unique<DocumentReader>(
          files_[file_], options_.documents, [this](std::string_view text) { return tokenizer_.find_cut(text); },
          options_.chunk_bytes);
    }
    return reader_ != nullptr;
  }

  void close() {
    reader_.reset();
    done_.disk_bytes += sizes_[file_++];
    ++done_.num_files;
  }

  const Tokenizer& tokenizer_;
  std::span<const std::filesystem::path> files_;
  const TokenizeOptions& options_;
  std::vector<int64_t> sizes_;
  size_t file_ = 0;
  std::unique_ptr<DocumentReader> reader_;
  TokenizeProgress done_;  // files read to their end, and text read
};

/// Threads that work off tasks in the order they come. The destructor drops what has not been begun.
class WorkerThreads {
 public:
  using Task = std::packaged_task<std::vector<uint32_t>()>;

  explicit WorkerThreads(int64_t count) {
    for (int64_t i = 0; i < count; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  ~WorkerThreads() {
    for (std::jthread& thread : threads_) thread.request_stop();
    const std::lock_guard lock(mutex_);
    tasks_.clear();
  }

  std::future<std::vector<uint32_t>> add(Task task) {
    std::future<std::vector<uint32_t>> result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    condition_.notify_one();
    return result;
  }

 private:
  void work(const std::stop_token& stop) {
    while (true) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        if (!condition_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any condition_;
  std::deque<Task> tasks_;
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

std::vector<uint32_t> encode_chunk(const Tokenizer& tokenizer, const Chunk& chunk,
                                   std::optional<uint32_t> end_of_text) {
  std::vector<uint32_t> tokens;
  tokens.reserve(chunk.text.size() / 3);
  size_t begin = 0;
  for (const Chunk::Part& part : chunk.parts) {
    const std::vector<uint32_t> more = tokenizer.encode(std::string_view(chunk.text).substr(begin, part.end - begin));
    tokens.insert(tokens.end(), more.begin(), more.end());
    if (part.ends_document && end_of_text) tokens.push_back(*end_of_text);
    begin = part.end;
  }
  return tokens;
}

}  // namespace

TokenizeProgress tokenize_files(const Tokenizer& tokenizer, std::span<const std::filesystem::path> files,
                                const TokenizeOptions& options,
                                const std::function<void(std::span<const uint32_t>)>& deliver,
                                const std::function<void(const TokenizeProgress&)>& on_progress) {
  if (options.num_threads < 1) {
    throw ConfigError(fmt::format("[tokenize_files] num_threads must be >= 1, got {}.", options.num_threads));
  }
  if (options.chunk_bytes < 1) throw ConfigError("[tokenize_files] chunk_bytes must be >= 1, got 0.");
  struct Running {
    std::future<std::vector<uint32_t>> tokens;
    TokenizeProgress progress;
  };
  ChunkReader reader(tokenizer, files, options);
  std::deque<Running> running;
  WorkerThreads threads(options.num_threads);
  int64_t num_tokens = 0;
  bool is_at_end = false;
  while (true) {
    // One more for each thread than it works on, so that none waits while this thread reads or delivers.
    while (!is_at_end && std::cmp_less(running.size(), 2 * options.num_threads)) {
      std::shared_ptr<const Chunk> chunk = reader.next();
      if (!(is_at_end = chunk == nullptr)) {
        const TokenizeProgress progress = chunk->progress;
        WorkerThreads::Task task([&tokenizer, chunk = std::move(chunk), end = options.end_of_text] {
          return encode_chunk(tokenizer, *chunk, end);
        });
        running.push_back({threads.add(std::move(task)), progress});
      }
    }
    if (running.empty()) break;
    const std::vector<uint32_t> tokens = running.front().tokens.get();
    TokenizeProgress progress = running.front().progress;
    running.pop_front();
    deliver(tokens);
    num_tokens += static_cast<int64_t>(tokens.size());
    progress.num_tokens = num_tokens;
    if (on_progress) on_progress(progress);
  }
  TokenizeProgress done = reader.done();
  done.num_tokens = num_tokens;
  return done;
}

}  // namespace levin
