#include <csignal>
#include <string>
#include <vector>

#include "cli/print.h"
#include "cli/run.h"

int main(int argc, char** argv) {
    memscope::guard_standard_streams();
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of write(), not our end
    return memscope::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
