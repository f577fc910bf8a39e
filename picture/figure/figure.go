// Package figure holds pictures of position encodings as values: what is on
// which axis, with the numbers, before anything is drawn. Package picture
// makes them of a model; layout, svg, raster, page and terminal show them.
//
// A Figure is bounded whatever the model: at most [MaxColumns] samples of a
// series, [MaxHeatColumns] × [MaxHeatRows] cells of a heat map. Names out of a
// model stand in it as they are: whoever writes them escapes them.
package figure

import "math"

// Bounds of what a figure holds.
const (
	MaxColumns     = 320 // samples of a series
	MaxHeatColumns = 192 // cells of a heat map from left to right
	MaxHeatRows    = 128 // and from top to bottom
	MaxMarks       = 64  // marked rows of a panel
	MaxSeries      = 8   // lines of a panel: as many as there are colours
)

// Figure is one picture: panels that stand one above the other.
type Figure struct {
	Kind        string   // one of Kind…
	Encoding    string   // the report's id of the encoding: "e0"
	Title       string   // what is drawn, with the model's name for it
	Subtitle    string   // the parameters in a line
	Description string   // the picture in words, for those who do not see it
	Panels      []Panel  // from top to bottom
	Notes       []string // sentences to be read with it: what was sampled, what is wrong
	Compared    bool     // it is of two models
	Differs     bool     // that differ in what it shows
}

// Kinds of figures.
const (
	KindRotation  = "rotation"  // RoPE: wavelengths of its pairs
	KindTable     = "table"     // learned rows: norms, similarity
	KindSinusoids = "sinusoids" // sines and cosines: dials, dot products
	KindLinear    = "linear"    // ALiBi: slopes, bias by distance
	KindBuckets   = "buckets"   // T5: bucket and bias by distance
	KindScores    = "scores"    // windows and other biases: what is added to scores
)

// Panel is one chart: lines over axes, a heat map, or dials.
type Panel struct {
	Title string
	// Difference tells that the panel shows a second model less the first, or over it.
	Difference bool
	X, Y       Axis
	Series     []Series
	Rules      []Rule // lines across, with a word
	Bands      []Band // ranges along an axis
	Marks      []Mark // faults at the foot
	Heat       *Heat  // in place of series
	Dials      []Dial // in place of series
}

// Scale is how an axis maps numbers to places.
type Scale int

// Scales of axes.
const (
	Linear Scale = iota
	Log10
	Log2
)

// Axis is one axis of a panel. Min and Max are its ends; equal ones are
// worked out from the series.
type Axis struct {
	Label    string
	Scale    Scale
	Min, Max float64
	Whole    bool // ticks are whole numbers: rows, heads, pairs
}

// Style is how a series is drawn.
type Style int

// Styles of series.
const (
	Line   Style = iota
	Dashed       // a line of dashes: what is not in the file
	Points       // separate points: heads, pairs
	Steps        // a line that goes over at once: buckets
)

// Series is one line: Y at X. Low and High, where they are set, are the least
// and the greatest number of those that a sample stands for. NaN in Y is a gap.
type Series struct {
	Name      string
	Style     Style
	X, Y      []float64
	Low, High []float64
}

// Rule is a line across the panel: at a number of the y axis, or of the x axis
// where Vertical.
type Rule struct {
	Name     string
	At       float64
	Vertical bool
}

// Band is a range of the y axis, or of the x axis where Vertical.
type Band struct {
	Name     string
	From, To float64
	Vertical bool
}

// Mark is a fault at a number of the x axis, or from one to another.
type Mark struct {
	Name     string // "NaN", "zeros"
	From, To float64
}

// Heat is a heat map, row by row from the top. NaN is told apart from numbers.
type Heat struct {
	Columns, Rows int
	Values        []float64 // Rows × Columns
	// Limit is the number of the strongest colour, on both sides of zero. Numbers
	// beyond it have that colour.
	Limit float64
	// Sequential tells that numbers run from Floor to Limit on one side.
	Sequential bool
	Floor      float64
	// X and Y are what the middle of the first and of the last cell stand for.
	X, Y [2]float64
}

// Dial is a clock whose hand turns with the position: one pair of sine and
// cosine. Hands are where it stands at Positions.
type Dial struct {
	Name      string
	Positions []float64
	X, Y      []float64 // cosine and sine, right and up
	Radius    float64   // of the full circle, in the numbers of X and Y
}

// Range returns the least and the greatest finite number of the panel's series
// along y, rules and bands included; ok is false where there is none.
func (p Panel) Range() (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	take := func(v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (p.Y.Scale == Linear || v > 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	for _, s := range p.Series {
		for _, values := range [][]float64{s.Y, s.Low, s.High} {
			for _, v := range values {
				take(v)
			}
		}
	}
	for _, r := range p.Rules {
		if !r.Vertical {
			take(r.At)
		}
	}
	return low, high, low <= high
}

// Span returns the least and the greatest number of the panel's series along x.
func (p Panel) Span() (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		for _, v := range s.X {
			if !math.IsNaN(v) && !math.IsInf(v, 0) && (p.X.Scale == Linear || v > 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, low <= high
}

// Columns picks at most most of n places, the first and the last among them,
// evenly; all of them where they are no more.
func Columns(n, most int) []int {
	if n <= 0 || most <= 0 {
		return nil
	}
	if n <= most {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	out := make([]int, most)
	for i := range out {
		out[i] = int(int64(i) * int64(n-1) / int64(max(most-1, 1)))
	}
	return out
}
