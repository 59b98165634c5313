#pragma once
#include <nlohmann/json.hpp>

// Made once, in json.cpp: each test that did so itself would compile for seconds longer.
extern template class nlohmann::basic_json<>;
