#pragma once
#include <nlohmann/json.hpp>

// Instantiated once, in json.cpp, because otherwise each test would compile for seconds longer.
extern template class nlohmann::basic_json<>;
