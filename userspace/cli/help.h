#pragma once

namespace memscope {

extern const char* const kHelp;  // the text of --help, for a terminal of 80 columns

}  // namespace memscope
