// Package table holds tables of rows, one a position, in GGUF files: learned ones
// and stored sinusoids of text models, and those of image and audio towers. All can
// get other rows but those of recordings.
package table

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TensorName is the tensor of absolute positions of text models: [positions, width].
const TensorName = "position_embd.weight"

// Table is a table of rows, one a position: learned, or a sinusoid in an audio
// tower.
type Table struct {
	m      *hparams.Model
	tensor *gguf.Tensor
	scheme schemes.Scheme
	beyond string
	says   report.Evidence
	text   bool // of a text model: its rows must equal context_length
	fixed  Fixed
}

// Fixed is why the rows of a table that is no text model's stay, where they lie on no grid, and what would work.
type Fixed struct{ Why, Instead string }

// Find is the table of a text model, learned or a stored sinusoid. Where there is
// none, a vocabulary has a site without rows, and any other file a finding.
func Find(m *hparams.Model) []position.Site {
	t := m.File.Tensor(TensorName)
	if t == nil || !t.IsMatrix() || t.Rows() == 0 || t.Width() == 0 {
		return findNoTable(m)
	}
	site := &Table{
		m: m, tensor: t, beyond: report.BeyondError, text: true,
		scheme: schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())},
		says:   report.Evidence{Kind: "architecture", Says: "llama.cpp's " + m.Family() + " adds a row of " + TensorName + " to each token's embedding"},
	}
	if waves, ok := Waves(m, t); ok {
		site.scheme = waves
	}
	return []position.Site{site}
}

// NewFixed is a table of a file that states no length: its rows are those of a picture or recording. What happens
// beyond it is not known.
func NewFixed(m *hparams.Model, t *gguf.Tensor, s schemes.Scheme, says report.Evidence, fixed Fixed) *Table {
	return &Table{m: m, tensor: t, scheme: s, beyond: report.BeyondUnknown, says: says, fixed: fixed}
}

// maxWidth bounds the width of a table's rows: that of the widest models is a tenth.
const maxWidth = 1 << 17

// findNoTable says that a model's table is not there: a vocabulary, or a file
// that engines refuse.
func findNoTable(m *hparams.Model) []position.Site {
	if m.Kind == report.KindVocabulary {
		return []position.Site{site.NewPlain(position.Encoding{
			Scheme: schemes.Learned{}, Form: report.FormTable, Beyond: report.BeyondError,
			Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + m.Family() + " has a table of positions; this file has no tensors"}},
		})}
	}
	m.Report("gguf-table-missing", report.LevelError, "architecture "+m.Family()+" needs the tensor "+TensorName+", which is missing or not a matrix", "engines refuse the file", nil)
	return nil
}

// Encoding says what the table holds.
func (t *Table) Encoding() position.Encoding {
	return position.Encoding{
		Scheme: t.scheme, Form: report.FormTable, Capacity: t.capacity(), Beyond: t.beyond, Dtype: t.tensor.Type.Dtype(),
		Where: []report.Where{t.m.WhereTensor(t.tensor)}, Evidence: []report.Evidence{t.says},
	}
}

// capacity is the number of positions: an image's prefix rows do not count.
func (t *Table) capacity() int {
	if grid := (position.Encoding{Scheme: t.scheme}).Grid(); grid != nil {
		return grid[0] * grid[1]
	}
	return int(t.tensor.Rows())
}

// Len is the number of rows.
func (t *Table) Len() int { return int(t.tensor.Rows()) }

// Dim is the width of a row, 0 when rows cannot be read, or are wider than any
// model's: then it is a mere claim, which a file without blocks can make cheaply.
func (t *Table) Dim() int {
	if !t.tensor.Readable() || t.tensor.Width() > maxWidth {
		return 0
	}
	return int(t.tensor.Width())
}

// Row reads row i into dst, which has Dim elements. Errors are those of reading.
func (t *Table) Row(i int, dst []float64) error {
	return t.m.File.ReadRows(t.tensor, int64(i), 1, dst)
}

// Neutralize makes every row zero: bytes of zero are the value zero in all
// float and quantised types that are read here. The error is a *position.Refusal
// where the storage type is not known.
func (t *Table) Neutralize() error {
	if !t.tensor.Readable() {
		return t.refuse("its storage type "+t.tensor.Type.String()+" is not known", "convert the table to F32 first")
	}
	t.m.Edit.Replace(t.tensor, patch.Zeros(t.tensor.Size), "a table of zeros adds nothing")
	return nil
}

func (t *Table) refuse(why, instead string) error {
	return &position.Refusal{Why: "tensor " + report.Printable(t.tensor.Name) + ": " + why, Instead: instead}
}

// Store gives the table other rows: those kept are copied as bytes, the others
// are computed when the file is written. The error is a *position.Refusal where
// the table, or its storage type, cannot have them.
func (t *Table) Store(want position.Want) error {
	if err := t.storable(want); err != nil {
		return err
	}
	if err := t.finite(); err != nil {
		return err
	}
	rows := want.Rows
	if rows == nil {
		rows = t.formula(want)
	}
	total, kept := int64(rows.Len()), int64(rows.Kept())
	source := &rowBytes{table: t, rows: rows}
	if err := source.try(); err != nil {
		return err
	}
	t.m.Edit.Resize(t.tensor, total, kept, patch.Func((total-kept)*t.tensor.RowBytes(), source.open),
		fmt.Sprintf("%s: %d rows become %d, the first %d kept", report.Printable(t.tensor.Name), t.Len(), total, kept))
	return nil
}

// storable checks that the table can get other rows at all.
func (t *Table) storable(want position.Want) error {
	stated, ok := t.m.Count(arch.KeyContext)
	width, knows := t.m.Count(arch.KeyEmbedding)
	switch {
	case !t.text && !position.Encoding{Scheme: t.scheme}.IsGrid():
		return t.refuse(t.fixed.Why, t.fixed.Instead)
	case t.tensor.Width() > maxWidth:
		return t.refuse(fmt.Sprintf("rows of %d elements, and no model has more than %d", t.tensor.Width(), maxWidth), "convert the model again")
	case ok && stated != t.Len():
		return t.refuse(fmt.Sprintf("%d rows, but %s is %d; engines refuse the file", t.Len(), t.m.Key(arch.KeyContext), stated),
			"convert the model again, or set the key to the number of rows")
	case knows && int64(width) != t.tensor.Width():
		return t.refuse(fmt.Sprintf("rows of %d elements, but %s is %d; engines refuse the file", t.tensor.Width(), t.m.Key(arch.KeyEmbedding), width),
			"convert the model again")
	case want.Rows == nil && t.formula(want) == nil:
		return t.refuse("a learned table needs rows to hold", "")
	case !t.tensor.Type.Writable():
		return t.refuse("rows in storage type "+t.tensor.Type.String()+" cannot be written", "convert the table to F32, F16, BF16 or a simple quantised type (Q8_0, Q5_1, Q4_0, …) first")
	case !t.tensor.IsMatrix() || want.Rows != nil && want.Rows.Kept() > t.Len():
		return t.refuse("not a matrix with that many rows", "")
	}
	return nil
}

// formula are rows by the sinusoid that the table holds, nil when it is trained.
func (t *Table) formula(want position.Want) position.RowSource {
	s, ok := want.Scheme.(schemes.Sinusoid)
	if !ok || s.Rows < t.Len() && !want.Cut {
		return nil
	}
	return waveRows{s.Table(), min(t.Len(), s.Rows), s.Rows}
}

// waveRows are rows of a sinusoid, the first of which the file has.
type waveRows struct {
	table      *schemes.SinusoidTable
	kept, rows int
}

// Len is the number of rows.
func (w waveRows) Len() int { return w.rows }

// Kept is how many of them stay as they are.
func (w waveRows) Kept() int { return w.kept }

// Dim is the width of a row.
func (w waveRows) Dim() int { return w.table.Dim }

// Row computes row i.
func (w waveRows) Row(i int, dst []float64) error { w.table.Row(i, dst); return nil }

// finite refuses tables with values that any interpolation would spread
// (facts/BAD-INPUTS C01).
func (t *Table) finite() error {
	row, column, value, err := t.broken()
	if err != nil {
		return err
	}
	if row >= 0 {
		return t.refuse(fmt.Sprintf("row %d, column %d is %v", row, column, value), "the table is damaged: convert the model again")
	}
	return nil
}

// broken finds the first value that is no finite number, row −1: none.
func (t *Table) broken() (row, column int, value float64, err error) {
	if t.Dim() == 0 {
		return -1, 0, 0, nil
	}
	values := make([]float64, t.Dim())
	for i := range t.Len() {
		if err := t.Row(i, values); err != nil {
			return 0, 0, 0, err
		}
		for j, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return i, j, v, nil
			}
		}
	}
	return -1, 0, 0, nil
}
