#pragma once

namespace memscope {

extern const char* const kHelp;  // of the whole command line, for a terminal of 80 columns

}  // namespace memscope
