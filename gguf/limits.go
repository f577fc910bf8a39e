package gguf

// Limits on what a header may claim. No real file comes near them
// (facts/BAD-INPUTS §4); what is larger is an attack or a broken file.
const (
	MaxPairs     = 1 << 16
	MaxTensors   = 1 << 20
	MaxNameBytes = 1<<16 - 1 // key or tensor name
	MaxString    = 1 << 30   // a string value that is skipped
	MaxLoad      = 64 << 20  // a string value that is loaded
	MaxArray     = 1 << 30   // elements
	MaxNesting   = 8         // arrays in arrays
	MaxDims      = 4
	MaxAlignment = 1 << 20
	MaxParts     = 99999 // five digits in a shard's name
)

// Least bytes that things take, to bound counts by the file's size.
const (
	leastPair   = 8 + 4 + 1
	leastTensor = 8 + 4 + 4 + 8
	headerBytes = 24
)

// EngineNameBytes is the longest tensor name that llama.cpp reads.
const EngineNameBytes = 63
