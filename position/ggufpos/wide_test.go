package ggufpos

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
)

// sparse is a file whose first bytes are given, and the rest zeros.
type sparse []byte

// ReadAt reads zeros behind the bytes.
func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at < int64(len(s)) {
		copy(p, s[at:])
	}
	return len(p), nil
}

// TestWideTable makes no row of the width that a file without blocks claims.
func TestWideTable(t *testing.T) {
	k := keys{"general.architecture": gguf.String("gpt2"), "gpt2.context_length": gguf.Uint32(4), "gpt2.embedding_length": gguf.Uint32(1 << 28),
		"gpt2.block_count": gguf.Uint32(1), "gpt2.attention.head_count": gguf.Uint32(1)}
	was := written(t, k, nil)
	f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Edit()
	const size = 4 << 30
	e.Add(table.TensorName, gguf.F32, []int64{1 << 28, 4}, patch.Zeros(size), "")
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 4096)
	if _, err := io.ReadFull(plan.NewReader(0, bytes.NewReader(was)), head); err != nil {
		t.Fatal(err)
	}
	if f, err = gguf.NewFile(sparse(head), size+4096); err != nil {
		t.Fatal(err)
	}
	m, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"", "tile", "zero", "interpolate"} {
		_, err = position.Extend(m, position.ExtendOptions{Length: 8, Method: method})
		if r, ok := err.(*position.Refusal); !ok {
			t.Errorf("%s: %v", method, err)
		} else if method == "tile" && !strings.Contains(r.Why, "no model has more") {
			t.Errorf("%s: %s", method, r.Why)
		}
	}
}

// TestHintsCanBeFollowed follows the hints of findings about keys that hold no sense.
func TestHintsCanBeFollowed(t *testing.T) {
	rope := func(o position.RescaleOptions) func(position.Model) error {
		return func(m position.Model) error { _, err := position.Rescale(m, o); return err }
	}
	base := rope(position.RescaleOptions{Base: 5e5})
	none := rope(position.RescaleOptions{Scaling: "none"})
	linear := rope(position.RescaleOptions{Scaling: "linear", Factor: 2})
	states := func(m position.Model) error {
		_, err := position.Extend(m, position.ExtendOptions{Length: 128, Method: position.MethodNone})
		return err
	}
	f := func(x float64) gguf.Value { return gguf.Float32(float32(x)) }
	for _, c := range []struct {
		key   string
		value gguf.Value
		rule  string
		does  []func(position.Model) error
	}{
		{"rope.freq_base", f(math.NaN()), "gguf-base-value", []func(position.Model) error{base}},
		{"rope.freq_base", f(math.Inf(1)), "gguf-base-value", []func(position.Model) error{base}},
		{"rope.freq_base", f(0), "gguf-base-value", []func(position.Model) error{base}},
		{"rope.freq_base", f(-5), "gguf-base-value", []func(position.Model) error{base}},
		{"rope.scaling.factor", f(math.NaN()), "gguf-factor-value", []func(position.Model) error{none, linear}},
		{"rope.scaling.factor", f(-5), "gguf-factor-value", []func(position.Model) error{none, linear}},
		{"rope.scaling.type", gguf.String("bogus"), "gguf-scaling-type-unknown", []func(position.Model) error{none, linear}},
		{"context_length", gguf.Uint32(0), "gguf-context-value", []func(position.Model) error{states}},
		{"context_length", gguf.Uint32(math.MaxUint32), "gguf-context-value", []func(position.Model) error{states}},
	} {
		for _, do := range c.does {
			k := keys{"general.architecture": gguf.String("llama"), "llama.context_length": gguf.Uint32(64), "llama.embedding_length": gguf.Uint32(32),
				"llama.block_count": gguf.Uint32(1), "llama.attention.head_count": gguf.Uint32(4), "llama.rope.dimension_count": gguf.Uint32(8), "llama." + c.key: c.value}
			was := written(t, k, map[string][]float32{"token_embd.weight": make([]float32, 32)})
			m := opened(t, was)
			if !has(m, c.rule) {
				t.Errorf("%s %v: no finding", c.key, c.value)
			}
			if err := do(m); err != nil {
				t.Errorf("%s %v: %v", c.key, c.value, err)
				continue
			}
			if after := reopen(t, m.Edit, was); has(after, c.rule) {
				t.Errorf("%s %v: the finding is there again", c.key, c.value)
			}
		}
	}
	k := keys{"general.architecture": gguf.String("llama"), "llama.context_length": gguf.Uint32(64), "llama.embedding_length": gguf.Uint32(32),
		"llama.block_count": gguf.Uint32(1), "llama.attention.head_count": gguf.Uint32(4), "llama.rope.scaling.factor": f(math.NaN()), "llama.rope.scaling.type": gguf.String("yarn")}
	if err := base(opened(t, written(t, k, map[string][]float32{"token_embd.weight": make([]float32, 32)}))); err == nil {
		t.Error("another base keeps a factor that is no number")
	}
}

func has(m *model, rule string) bool {
	for _, f := range m.Findings() {
		if f.Rule == rule {
			return true
		}
	}
	return false
}
