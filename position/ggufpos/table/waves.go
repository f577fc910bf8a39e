package table

import (
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Waves reads the rows of a table as a stored sinusoid (DistilBERT's option): the first
// rows give the formula, others must follow it. ok is false for trained rows.
func Waves(m *hparams.Model, t *gguf.Tensor) (s schemes.Sinusoid, ok bool) {
	rows := make([]int, min(t.Rows(), fitRows))
	for i := range rows {
		rows[i] = i
	}
	x, ok := numbers(m, t, rows)
	if !ok {
		return s, false
	}
	found, ok := fit.AdditiveTable(x, precision(t.Type))
	s = found.Sinusoid
	s.Rows = int(t.Rows())
	return s, ok && Follows(m, t, s)
}

// GridWaves reads the rows of a table as a stored sinusoid of the places of a square grid (Stable Diffusion 3, DiT):
// those near its first corner give the formula, others must follow it. ok is false for trained rows.
func GridWaves(m *hparams.Model, t *gguf.Tensor) (s schemes.Sinusoid, ok bool) {
	side := int(math.Sqrt(float64(t.Rows())))
	if int64(side)*int64(side) != t.Rows() {
		return s, false
	}
	corner := fitSide
	if t.Width() > maxFitWidth {
		corner = fitSide / 4
	}
	corner = min(side, corner)
	rows := make([]int, corner*corner)
	for i := range rows {
		rows[i] = i/corner*side + i%corner
	}
	x, ok := numbers(m, t, rows)
	if !ok {
		return s, false
	}
	found, ok := fit.GridTable(x, precision(t.Type), []int{corner, corner})
	s = found.Sinusoid
	s.Rows, s.Grid = int(t.Rows()), []int{side, side}
	return s, ok && Follows(m, t, s)
}

// numbers are rows of a table; false where they cannot be read, or are too few or too wide to tell a formula.
func numbers(m *hparams.Model, t *gguf.Tensor, of []int) (fit.Matrix, bool) {
	width := t.Width()
	if !t.Readable() || width < 4 || width > hparams.MaxDims || len(of) < 4 {
		return nil, false
	}
	values := make([]float64, int(width)*len(of))
	for i, row := range of {
		if m.File.ReadRows(t, int64(row), 1, values[i*int(width):(i+1)*int(width)]) != nil {
			return nil, false
		}
	}
	return fit.Dense(len(of), int(width), values), true
}

// precision is that in which a storage type holds numbers.
func precision(t gguf.TensorType) fit.Precision {
	switch t {
	case gguf.F32, gguf.F64:
		return fit.Float32
	case gguf.F16:
		return fit.Float16
	case gguf.BF16:
		return fit.BFloat16
	}
	return fit.Int8
}

// fitRows is how many rows of a table are read to tell a stored sinusoid from
// trained rows.
const fitRows = 64

// fitSide is how many places of each axis of a grid are, a quarter of wider rows than maxFitWidth.
const (
	fitSide     = 16
	maxFitWidth = 1 << 14
)

// sinusoidTolerance allows for float32 programs that made the table, and for
// F16 storage.
const sinusoidTolerance = 2e-3

// Follows reports whether a table holds a sinusoid, by rows from its start,
// middle and end: within 0.002, for float32 programs that made it and F16 storage.
func Follows(m *hparams.Model, t *gguf.Tensor, s schemes.Sinusoid) bool {
	if !t.Readable() || s.Dim < 4 || s.Dim > hparams.MaxDims || s.Rows < 2 {
		return false
	}
	have, want := make([]float64, s.Dim), make([]float64, s.Dim)
	for _, i := range []int{0, 1, s.Rows / 2, s.Rows - 1} {
		if m.File.ReadRows(t, int64(i), 1, have) != nil {
			return false
		}
		s.Row(i, want)
		for j := range have {
			if !(math.Abs(have[j]-want[j]) <= sinusoidTolerance) {
				return false
			}
		}
	}
	return true
}
