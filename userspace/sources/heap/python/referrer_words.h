#pragma once
#include <vector>

#include "sources/heap/python/object_reader.h"

namespace memscope {

// The memory in which an object of Python refers to others, word by word: items, values, attributes, variables.
std::vector<HeapRange> referrer_words(ObjectReader& reader, Address object, const PythonType& type);

}  // namespace memscope
