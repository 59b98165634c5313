#include <csignal>
#include <string>
#include <vector>

#include "cli/print.h"
#include "cli/run.h"

int main(int argc, char** argv) {
    memscope::guard_standard_streams();
    std::signal(SIGPIPE, SIG_IGN);  // write() returns an error if the reader is gone; it must not end memscope
    return memscope::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
