package table

import (
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// waves reads the rows as a stored sinusoid (DistilBERT's option): the first
// rows give the formula, others must follow it.
func (t *Table) waves() (schemes.Sinusoid, bool) {
	if !t.tensor.Readable() || t.Dim() < 4 || t.Dim() > hparams.MaxDims || t.Len() < 4 {
		return schemes.Sinusoid{}, false
	}
	rows := make([][]float64, min(t.Len(), fitRows))
	for i := range rows {
		rows[i] = make([]float64, t.Dim())
		if t.Row(i, rows[i]) != nil {
			return schemes.Sinusoid{}, false
		}
	}
	p := fit.Float32
	switch l := t.tensor.Type; {
	case l == gguf.F16:
		p = fit.Float16
	case l == gguf.BF16:
		p = fit.BFloat16
	case l != gguf.F32 && l != gguf.F64:
		p = fit.Int8
	}
	found, ok := fit.AdditiveTable(fit.Func(len(rows), t.Dim(), func(r, c int) float64 { return rows[r][c] }), p)
	s := found.Sinusoid
	s.Rows = t.Len()
	return s, ok && Follows(t.m, t.tensor, s)
}

// fitRows is how many rows of a table are read to tell a stored sinusoid from
// trained rows.
const fitRows = 64

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
