package attention

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
)

// TestHostileBias refuses biases that do not have an element a row of the
// matrix, before their width decides an allocation: a tensor of no rows takes no
// bytes, however wide it says it is.
func TestHostileBias(t *testing.T) {
	values := []float32{1, 2, 3, 4}
	file := made(t, map[string][]float32{"w": values, "b": {7}})
	for _, c := range []struct {
		shape []int64
		says  string
	}{{[]int64{1}, ""}, {[]int64{1 << 40, 0}, "0 rows"}, {[]int64{math.MaxInt64}, "rows of 9223372036854775807 elements"}, {[]int64{1, 2}, "2 rows"}, {[]int64{4}, "of 4 elements"}} {
		bias := *file.Tensor("b")
		bias.Shape = c.shape
		p := &projection{file: file, weight: file.Tensor("w"), bias: &bias, dim: 1}
		weights, added, err := p.head(0)
		switch {
		case c.says == "" && (err != nil || len(weights) != 4 || added[0] != 7):
			t.Errorf("%v: %v, %v, %v", c.shape, weights, added, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%v: %v, want %q", c.shape, err, c.says)
		}
	}
	if _, _, err := (&projection{file: file, weight: &gguf.Tensor{Name: "none", Shape: []int64{1 << 40, 0}}, dim: 1}).head(0); err == nil {
		t.Error("a matrix of no rows has a head")
	}
}

// made is a file of F32 vectors.
func made(t *testing.T, vectors map[string][]float32) *gguf.File {
	t.Helper()
	empty := make([]byte, 24)
	copy(empty, "GGUF\x03")
	f, err := gguf.NewFile(bytes.NewReader(empty), 24)
	if err != nil {
		t.Fatal(err)
	}
	e := f.Edit()
	for name, values := range vectors {
		var raw bytes.Buffer
		binary.Write(&raw, binary.LittleEndian, values)
		e.Add(name, gguf.F32, []int64{int64(len(values))}, patch.Bytes(raw.Bytes()), "")
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(plan.NewReader(0, bytes.NewReader(empty)))
	if err != nil {
		t.Fatal(err)
	}
	if f, err = gguf.NewFile(bytes.NewReader(out), int64(len(out))); err != nil {
		t.Fatal(err)
	}
	return f
}
