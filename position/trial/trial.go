// Package trial is an attention that was run on seeded states: what enters its formula, and what the file
// itself makes of it. Files of all formats are tried alike, and verify holds them against the formula.
package trial

import (
	"maps"
	"math"
	"slices"
)

// Trial is one attention that was run on seeded states, in float64: what enters its
// formula, softmax(cap(scale·query·key) + bias)·value, and what the file itself makes of
// it. Rows are positions throughout.
type Trial struct {
	Queries, Keys int
	// Past is how many keys came from a cache: they are there as they were cached, turned
	// already.
	Past int
	// Own tells that these come from no cache: the graph puts keys of its own ahead of those of its input.
	Own   bool
	Heads []Head
	// First is the first element of a query and key that is turned.
	First int
	// Relative says what else scores depend on than query·key and a bias, "" where on
	// nothing else. Then Head.Bias is that of these states alone.
	Relative string
	// Dtype is the type in which the file computes what enters ("float16"), "" where it is
	// no program.
	Dtype string
	// Together tells that activations are quantised by the range of all positions at once (ONNX,
	// DynamicQuantizeLinear): what one gives depends on how many there are.
	Together bool
	// Rounding is the first operator that rounds queries, keys or values to numbers of eight bits, and was passed over; "": none.
	Rounding string
	// Entered says what was given numbers: the states before the projections, or less.
	Entered string
}

// Limit is the error of an attention that could not be run for what this program bounds: it says nothing of the model.
type Limit struct{ What string }

// Error says what was too much.
func (l *Limit) Error() string { return l.What }

// Head is one head of a Trial.
type Head struct {
	Head int // its number
	// Query, Key and Value are as they would be multiplied if nothing turned them: a row
	// for each query, or key.
	Query, Key, Value [][]float64
	Scale             float64 // multiplies query·key
	Softcap           float64 // c of c·tanh(score/c); 0: none
	Sink              []float64
	// What the file computes, nil where it is no program (GGUF): query·key with both
	// turned; what is added to scale·query·key, masks included; the scores that the
	// Softmax reads; the weighted values.
	Products, Bias, Scores, Output [][]float64
	// Mask is the file's own: a key with this in Bias, or less, is masked; see MaskOf. A score may be as low.
	Mask float64
}

// Masked reports whether the file's own mask hides a key from a query.
func (h *Head) Masked(query, key int) bool {
	return h.Bias != nil && h.Bias[query][key] <= h.Mask
}

const (
	// leastMask bounds masks: files add −∞, the lowest number of a type, or −10,000.
	leastMask = -5e3
	// maskApart is how far a mask is below all biases, as a share of it. Biases reach below leastMask, too: those of steep
	// slopes at thousands of positions.
	maskApart = 0.25
	// maskBin is the step by which the sizes of low numbers are counted, less than maskApart.
	maskBin = 1.02
)

// MaskOf finds the highest number that is a mask among what is added to scores: far below leastMask and below every
// number that is none. −∞ where there is no other.
func MaskOf(bias []float64) float64 {
	above, last := 0.0, 0.0
	type bounds struct{ low, high float64 }
	bins := map[int]bounds{}
	for _, x := range bias {
		switch {
		case x > leastMask:
			above = math.Min(above, x)
		case x < last || x > last: // masks repeat
			last = x
			at := math.MaxInt
			if !math.IsInf(x, 0) {
				at = int(math.Log(x/leastMask) / math.Log(maskBin))
			}
			b, ok := bins[at]
			if !ok {
				b = bounds{x, x}
			}
			bins[at] = bounds{math.Min(b.low, x), math.Max(b.high, x)}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(bins)) {
		if b := bins[at]; math.IsInf(b.high, 0) || above-b.high >= -b.high*maskApart {
			return b.high
		} else {
			above = b.low
		}
	}
	return math.Inf(-1)
}

// Normal are normal random numbers, each from the seed and its own place: that of a
// shorter or longer value at the same indices is the same.
func Normal(seed uint64, shape []int) []float64 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	out := make([]float64, n)
	index := make([]int, len(shape))
	for i := range out {
		h := mixed(seed + 0x6d6f64656c706174)
		for _, x := range index {
			h = mixed(h ^ uint64(x+1)*0x9e3779b97f4a7c15)
		}
		u := (float64(h>>11) + 0.5) / (1 << 53)
		v := float64(mixed(h)>>11) / (1 << 53)
		out[i] = math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
		for d := len(shape) - 1; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}

// mixed scatters the bits of a number (Steele et al. 2014, splitmix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
