package ggufpos

import (
	"math"
	"os"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/gguf/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// after opens what a change of a file gives.
func after(t *testing.T, raw []byte, verb func(position.Model) (position.Outcome, error)) (*model, []byte) {
	t.Helper()
	m := opened(t, raw)
	if out, err := verb(m); err != nil || out.Nothing != "" {
		t.Fatalf("%v %s", err, out.Nothing)
	}
	plan, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	changed := applied(t, plan, raw)
	return opened(t, changed), changed
}

// TestBakeAndUnbakeDivisors: a scaling in keys becomes divisors of the frequencies, by which llama.cpp divides each
// (ggml_rope_ext's freq_factors), and keys again.
func TestBakeAndUnbakeDivisors(t *testing.T) {
	_, scaled := after(t, readFile(t, "llama-plain.gguf"), func(m position.Model) (position.Outcome, error) {
		return position.Rescale(m, position.RescaleOptions{Scaling: "linear", Factor: 2})
	})
	baked, raw := after(t, scaled, func(m position.Model) (position.Outcome, error) { return position.Bake(m, position.BakeOptions{}) })
	tensor := baked.File.Tensor("rope_freqs.weight")
	if tensor == nil || baked.File.Find("llama.rope.scaling.factor") != nil {
		t.Fatal("no divisors, or the keys are still there")
	}
	divisors := make([]float64, tensor.Width())
	if err := baked.File.ReadRows(tensor, 0, 1, divisors); err != nil {
		t.Fatal(err)
	}
	for i, d := range divisors {
		if math.Abs(d-2) > 1e-6 {
			t.Errorf("divisor %d is %g", i, d)
		}
	}
	unbaked, _ := after(t, raw, position.Unbake)
	if f, _ := unbaked.File.Numbers("llama.rope.scaling.factor"); unbaked.File.Tensor("rope_freqs.weight") != nil || unbaked.File.Find("llama.rope.scaling.factor") == nil {
		t.Errorf("divisors are still there, or no keys: %v", f)
	}
	want := schemes.Scaling{Type: "linear", Factor: 2}
	if got := rotation(unbaked.sites[0]).Scaling; got.Type != want.Type || got.Factor != want.Factor {
		t.Errorf("%+v", got)
	}
}

// TestSetKeys: a key gets the type that llama.cpp reads, what it changes is told, and what is read nowhere is refused.
func TestSetKeys(t *testing.T) {
	raw := readFile(t, "llama-plain.gguf")
	m, _ := after(t, raw, func(m position.Model) (position.Outcome, error) {
		return position.SetKeys(m, position.SetOptions{Keys: []position.KeyValue{{Key: "rope.freq_base", Value: "500000"}, {Key: "llama.context_length", Value: "64"}}})
	})
	if r := rotation(m.sites[0]); r.Base != 500000 || m.File.Find("llama.rope.freq_base").Type != gguf.TypeFloat32 || m.File.Find("llama.context_length").Type != gguf.TypeUint32 {
		t.Errorf("%+v", r)
	}
	if d := m.Describe(); d.Length.Stated == nil || *d.Length.Stated != 64 {
		t.Errorf("%+v", d.Length)
	}
	for _, k := range []position.KeyValue{{Key: "rope.no_such_key", Value: "1"}, {Key: "rope.freq_base", Value: "many"}, {Key: "rope.freq_base", Value: "-1"}, {Key: "context_length", Value: "0"},
		{Key: "attention.max_alibi_bias", Value: "8"}, {Key: "general.name", Value: "x"}, {Key: "rope.scaling.type", Value: "unknown"}} {
		if out, err := position.SetKeys(opened(t, raw), position.SetOptions{Keys: []position.KeyValue{k}}); err == nil {
			t.Errorf("%s=%s is taken: %+v", k.Key, k.Value, out)
		}
	}
}

// TestLayersOfKeys: layers that turn by the same keys cannot be told apart.
func TestLayersOfKeys(t *testing.T) {
	_, err := position.Rescale(opened(t, readFile(t, "llama-plain.gguf")), position.RescaleOptions{Base: 20000, Layers: "1"})
	if _, refused := err.(*position.Refusal); !refused {
		t.Errorf("one layer of two: %v", err)
	}
	m, _ := after(t, readFile(t, "gemma3-dual.gguf"), func(m position.Model) (position.Outcome, error) {
		return position.Rescale(m, position.RescaleOptions{Base: 2000000, Layers: position.LayersGlobal})
	})
	bases := map[float64]int{}
	for _, s := range m.sites {
		bases[rotation(s).Base]++
	}
	if len(bases) != 2 || bases[2000000] != 1 {
		t.Errorf("bases %v", bases)
	}
}
