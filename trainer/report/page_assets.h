#pragma once

namespace levin {

/// The files of assets/ (see BUILD), so that the program needs no files beside it.
const char* page_html();    ///< With the places {{title}}, {{style}}, {{data}} and {{script}}.
const char* page_style();   ///< CSS.
const char* page_script();  ///< JavaScript.

}  // namespace levin
