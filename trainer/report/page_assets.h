#pragma once

namespace levin {

/// The files of assets/ (see BUILD), so that the program needs no files beside it.
extern const char* const kPageHtml;    ///< With the places {{title}}, {{style}}, {{data}} and {{script}}.
extern const char* const kPageStyle;   ///< CSS.
extern const char* const kPageScript;  ///< JavaScript.

}  // namespace levin
