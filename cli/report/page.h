// report/page.html as text, with a place for the numbers: @DATA@. CMake writes its source.
#pragma once

namespace pmio::cli {

extern const char* const kPage;

}  // namespace pmio::cli
