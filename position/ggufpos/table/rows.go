package table

import (
	"fmt"
	"io"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
)

// rowBytes gives new rows as the table stores them.
type rowBytes struct {
	table *Table
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
	part := r.table.m.File.Parts[r.table.tensor.Part]
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
