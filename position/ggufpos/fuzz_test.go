package ggufpos

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
)

// FuzzOpen inspects and edits whatever parses: no panic, no runaway memory,
// and what an edit gives parses again.
func FuzzOpen(f *testing.F) {
	for _, pattern := range []string{"../../testdata/gguf/*.gguf", "../../../shared/badfiles/*.gguf"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 40<<10 {
				f.Add(b, 128, uint8(0))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, length int, way uint8) {
		file, err := gguf.NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		opened, err := Open(file)
		if err != nil {
			return
		}
		m := bare(opened)
		if _, err := json.Marshal(position.Inspect(m)); err != nil {
			t.Fatal(err)
		}
		for i, a := range m.Attentions() {
			if a.Run != nil && i < 2 {
				a.Run(4, []int{0})
			}
		}
		if length > 1<<16 {
			length %= 1 << 16 // tables are computed once for a check
		}
		switch way % 5 {
		case 0:
			_, err = position.Extend(m, position.ExtendOptions{Length: length})
		case 1:
			_, err = position.Rescale(m, position.RescaleOptions{Scaling: "yarn", Factor: 4})
		case 2:
			_, err = position.Rescale(m, position.RescaleOptions{Scaling: "llama3", Factor: 4, Base: 5000})
		case 3:
			_, err = position.AddWindow(m, position.WindowOptions{Positions: length%64 + 1, Sinks: length % 3})
		default:
			_, err = position.AddALiBi(m, position.ALiBiOptions{Replace: true})
		}
		if err == nil && m.Edit.Changed() && len(b) < 1<<16 {
			reopen(t, m.Edit, b)
		}
	})
}

// TestEveryArchitectureOpens gives each architecture a plain file, with and
// without everything that it might read.
func TestEveryArchitectureOpens(t *testing.T) {
	for name, arch := range archs(t) {
		for _, k := range []keys{{"general.architecture": gguf.String(name)}, fixture(arch, 64)} {
			m := make1(t, k, map[string][]float32{operator.FreqsTensor: make([]float32, 32)})
			if name != "clip" && len(m.sites) == 0 && len(m.Reported) == 0 {
				t.Errorf("%s: neither site nor finding", name)
			}
			position.Inspect(m)
			position.Extend(m, position.ExtendOptions{Length: 4096})
		}
	}
}
