#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace memscope::web {

// A file of the page, compressed by the build.
struct EmbeddedFile {
    std::string_view name;  // "page.js"
    std::string_view gzip;
};
// Empty if memscope was built without the page. The build generates this function.
std::span<const EmbeddedFile> embedded_files();

// The files of the page: index.html, page.js, page.css, licences.txt.
class PageFiles {
  public:
    // The files in the program, or the files of `directory`. The directory is for work on the page itself.
    static Result<PageFiles> load(const std::optional<fs::path>& directory);

    struct File {
        std::string content{};
        std::string gzip{};  // empty: it was not compressed
        std::string type{};  // "text/javascript; charset=utf-8"
    };
    // Null if there is no such file.
    const File* find(const std::string& name) const;

  private:
    std::map<std::string, File> files_{};
};

// Environment variable that names a directory with the files of the page, for work on the page itself.
inline constexpr const char* kPageVariable = "MEMSCOPE_PAGE_DIR";
// The files in the directory that kPageVariable names, or the files in the program.
Result<PageFiles> load_page_files();

}  // namespace memscope::web
