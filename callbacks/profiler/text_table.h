#pragma once

#include <string>
#include <vector>

namespace levin {

/// Columns of equal width with two spaces between them, the first aligned to the left and the others to the right, a
/// line end after each row. The first row is the header. All rows have the same number of cells.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace levin
