#pragma once

#include <filesystem>
#include <functional>

#include "trainer/core/files/file_writer.h"

namespace levin {

/// Writes `file`, whose content `write` writes, such that its name never stands for anything incomplete: the bytes go
/// to ".<name>.tmp" beside it, are made durable, and take the name in one step. A file of that name is replaced. Not
/// for two processes that write one name at the same time.
/// Errors: CheckpointError with the path and the system's reason, and what `write` throws; an older file is then as it
/// was.
void write_whole_file(const std::filesystem::path& file, const std::function<void(FileWriter&)>& write);

}  // namespace levin
