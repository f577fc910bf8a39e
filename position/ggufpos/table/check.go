package table

import (
	"fmt"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
)

// scannedTable is the largest table that inspect reads to look for broken
// values.
const scannedTable = 16 << 20

// Check compares the tables of text models among the sites with the stated length
// and width, and looks for values that are no finite numbers.
func Check(m *hparams.Model, sites []position.Site) {
	for _, s := range sites {
		t, ok := s.(*Table)
		if !ok || !t.text {
			continue
		}
		w := m.WhereTensor(t.tensor)
		if n, ok := m.Count(arch.KeyContext); ok && n != t.Len() {
			m.Report("gguf-rows-differ-from-length", report.LevelError,
				fmt.Sprintf("%s is %d, but %s has %d rows; engines refuse the file", m.Key(arch.KeyContext), n, TensorName, t.Len()), "set the key to the number of rows", &w)
		}
		if n, ok := m.Count(arch.KeyEmbedding); ok && int64(n) != t.tensor.Width() {
			m.Report("gguf-table-width", report.LevelError, fmt.Sprintf("%s is %d, but rows of %s have %d elements; engines refuse the file", m.Key(arch.KeyEmbedding), n, TensorName, t.tensor.Width()), "convert the model again", &w)
		}
		if t.tensor.Size <= scannedTable && t.tensor.Readable() {
			if row, column, value, err := t.broken(); err == nil && row >= 0 {
				m.Report("gguf-table-not-finite", report.LevelError, fmt.Sprintf("%s: row %d, column %d is %v", TensorName, row, column, value), "the table is damaged: convert the model again", &w)
			}
		}
	}
}
