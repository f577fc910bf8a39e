package ggufpos

import (
	"fmt"
	"io"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// nameTable is the table of absolute positions of text models.
const nameTable = "position_embd.weight"

// table is a table of rows, one a position: learned, or a sinusoid in an audio
// tower.
type table struct {
	m      *model
	tensor *gguf.Tensor
	scheme schemes.Scheme
	beyond string
	says   report.Evidence
	text   bool // of a text model: its rows must equal context_length
}

// findTable adds the learned table of a text model.
func (m *model) findTable() {
	t := m.file.Tensor(nameTable)
	if t == nil || !t.IsMatrix() || t.Rows() == 0 || t.Width() == 0 {
		m.findNoTable()
		return
	}
	site := &table{
		m: m, tensor: t, beyond: report.BeyondError, text: true,
		scheme: schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())},
		says:   report.Evidence{Kind: "architecture", Says: "llama.cpp's " + m.name + " adds a row of " + nameTable + " to each token's embedding"},
	}
	if waves, ok := site.waves(); ok {
		site.scheme = waves
	}
	m.sites = append(m.sites, site)
}

// maxWidth bounds the width of a table's rows: that of the widest models is a tenth.
const maxWidth = 1 << 17

// fitRows is how many rows of a table are read to tell a stored sinusoid from
// trained rows.
const fitRows = 64

// waves reads the rows as a stored sinusoid (DistilBERT's option): the first
// rows give the formula, others must follow it.
func (t *table) waves() (schemes.Sinusoid, bool) {
	if !t.tensor.Readable() || t.Dim() < 4 || t.Dim() > maxDims || t.Len() < 4 {
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
	return s, ok && t.m.follows(t.tensor, s)
}

// findNoTable says that a model's table is not there: a vocabulary, or a file
// that engines refuse.
func (m *model) findNoTable() {
	if m.kind == report.KindVocabulary {
		m.sites = append(m.sites, &plain{position.Encoding{
			Scheme: schemes.Learned{}, Form: report.FormTable, Beyond: report.BeyondError,
			Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + m.name + " has a table of positions; this file has no tensors"}},
		}})
		return
	}
	m.addFinding("gguf-table-missing", report.LevelError, "architecture "+m.name+" needs the tensor "+nameTable+", which is missing or not a matrix", "engines refuse the file", nil)
}

// Encoding says what the table holds.
func (t *table) Encoding() position.Encoding {
	return position.Encoding{
		Scheme: t.scheme, Form: report.FormTable, Capacity: t.capacity(), Beyond: t.beyond, Dtype: t.tensor.Type.Dtype(),
		Where: []report.Where{t.m.whereTensor(t.tensor)}, Evidence: []report.Evidence{t.says},
	}
}

// capacity is the number of positions: an image's prefix rows do not count.
func (t *table) capacity() int {
	rows := int(t.tensor.Rows())
	if l, ok := t.scheme.(schemes.Learned); ok && l.Grid != nil {
		return rows - l.Prefix
	}
	return rows
}

// Len is the number of rows.
func (t *table) Len() int { return int(t.tensor.Rows()) }

// Dim is the width of a row, 0 when rows cannot be read, or are wider than any
// model's: then it is a mere claim, which a file without blocks can make cheaply.
func (t *table) Dim() int {
	if !t.tensor.Readable() || t.tensor.Width() > maxWidth {
		return 0
	}
	return int(t.tensor.Width())
}

// Row reads row i.
func (t *table) Row(i int, dst []float64) error {
	return t.m.file.ReadRows(t.tensor, int64(i), 1, dst)
}

// Neutralize makes every row zero: bytes of zero are the value zero in all
// float and quantised types that are read here.
func (t *table) Neutralize() error {
	if !t.tensor.Readable() {
		return t.refuse("its storage type "+t.tensor.Type.String()+" is not known", "convert the table to F32 first")
	}
	t.m.edit.Replace(t.tensor, patch.Zeros(t.tensor.Size), "a table of zeros adds nothing")
	return nil
}

func (t *table) refuse(why, instead string) error {
	return &position.Refusal{Why: "tensor " + report.Printable(t.tensor.Name) + ": " + why, Instead: instead}
}

// Hold gives the table other rows: those kept are copied as bytes, the others
// are computed when the file is written.
func (t *table) Hold(want position.Want) error {
	if err := t.holdable(want); err != nil {
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
	t.m.edit.Resize(t.tensor, total, kept, patch.Func((total-kept)*t.tensor.RowBytes(), source.open),
		fmt.Sprintf("%s: %d rows become %d, the first %d kept", report.Printable(t.tensor.Name), t.Len(), total, kept))
	return nil
}

// holdable checks that the table can get other rows at all.
func (t *table) holdable(want position.Want) error {
	stated, ok := t.m.count(keyContext)
	width, knows := t.m.count(keyEmbedding)
	switch {
	case !t.text:
		return t.refuse("rows of an image or audio tower belong to its input size, which the file's other keys and the engine fix",
			"change the tower in the source model and convert it again")
	case t.tensor.Width() > maxWidth:
		return t.refuse(fmt.Sprintf("rows of %d elements, and no model has more than %d", t.tensor.Width(), maxWidth), "convert the model again")
	case ok && stated != t.Len():
		return t.refuse(fmt.Sprintf("%d rows, but %s is %d; engines refuse the file", t.Len(), t.m.key(keyContext), stated),
			"convert the model again, or set the key to the number of rows")
	case knows && int64(width) != t.tensor.Width():
		return t.refuse(fmt.Sprintf("rows of %d elements, but %s is %d; engines refuse the file", t.tensor.Width(), t.m.key(keyEmbedding), width),
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
func (t *table) formula(want position.Want) position.RowSource {
	s, ok := want.Scheme.(schemes.Sinusoid)
	if !ok || s.Rows < t.Len() {
		return nil
	}
	return waveRows{s.Table(), t.Len(), s.Rows}
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
func (t *table) finite() error {
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
func (t *table) broken() (row, column int, value float64, err error) {
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

// rowBytes gives new rows as the table stores them.
type rowBytes struct {
	table *table
	rows  position.RowSource
}

// triedRows is how many new rows are computed ahead of writing.
const triedRows = 1 << 16

// try computes new rows once, so that a value which the storage type cannot
// hold is refused before anything is written. Of very long tables the rest is
// found out while writing, which is then given up.
func (s *rowBytes) try() error {
	r := s.reader()
	for n := 0; r.next < s.rows.Len() && n < triedRows; n++ {
		if err := r.encode(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rowBytes) open() io.Reader { return s.reader() }

func (s *rowBytes) reader() *rowReader {
	return &rowReader{rowBytes: s, next: s.rows.Kept(), values: make([]float64, s.table.Dim()), buf: make([]byte, s.table.tensor.RowBytes())}
}

// rowReader reads the stored form of one row after another.
type rowReader struct {
	*rowBytes
	next   int
	values []float64
	buf    []byte
	rest   []byte
}

func (r *rowReader) encode() error {
	if err := r.rows.Row(r.next, r.values); err != nil {
		return err
	}
	part := r.table.m.file.Parts[r.table.tensor.Part]
	if err := gguf.EncodeRow(r.table.tensor.Type, part.Order, r.values, r.buf); err != nil {
		return r.table.refuse(fmt.Sprintf("new row %d: %v", r.next, err), "choose another method, or convert the table to F32")
	}
	r.rest = r.buf
	r.next++
	return nil
}

// Read gives the next bytes.
func (r *rowReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next >= r.rows.Len() {
			return 0, io.EOF
		}
		if err := r.encode(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
