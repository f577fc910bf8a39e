// Package fit is the inverse of package schemes: from numbers in a file back to
// the scheme and the parameters that made them.
//
// InverseFrequencies explains a vector of rotary frequencies; RotaryCache and
// PackedRotaryCache explain cos and sin tables; AdditiveTable explains a
// sinusoidal table, and tells it from a learned one; Slopes and LinearBias
// explain ALiBi. An answer reproduces all the numbers that were given, within
// the precision in which they were stored, and says by how much it misses.
// What numbers alone cannot decide is answered by all readings that fit.
//
// The methods are those of facts/NUMERICS §8.
package fit
