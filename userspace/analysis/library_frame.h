#pragma once
#include "model/growth.h"

namespace memscope {

// True for code that the user of a job did not write: Python's own library, installed packages, and code that a library
// generated. The only definition of it: the verdict and the growth table must name the same line.
bool is_library(const PythonFrame& frame);

}  // namespace memscope
