package whole

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine/onnxruntime"
)

// needLibrary skips where there is no ONNX Runtime.
func needLibrary(t *testing.T) {
	t.Helper()
	if l, err := onnxruntime.Load(); err != nil {
		t.Skip(err)
	} else {
		t.Logf("ONNX Runtime %s of %s", l.Version, l.Path)
	}
}

func TestONNXRuntime(t *testing.T) {
	needLibrary(t)
	model := filepath.Join(models, "onnx/gpt2-dy23.onnx")
	p := pair(model, model, 48)
	p.Before.Fails, p.After.Fails = true, true
	checks := run(t, p)
	if len(checks) != len(levels) {
		t.Fatalf("%d checks", len(checks))
	}
	for _, k := range checks {
		if k.Verdict != report.CheckPass || !strings.Contains(k.Why, "bit for bit") || !strings.Contains(k.Why, "fails at 49") {
			t.Errorf("the same file: %s: %s", k.Verdict, k.Why)
		}
	}
	data, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	p.After.Path = filepath.Join(t.TempDir(), "broken.onnx")
	if err := os.WriteFile(p.After.Path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range run(t, p) {
		if k.Verdict != report.CheckFail || !strings.Contains(k.Why, "the file after does not load") {
			t.Errorf("half a file: %s: %s", k.Verdict, k.Why)
		}
	}
	p.After.Path, p.After.Length = model, 64 // more than it has
	for _, k := range run(t, p) {
		if k.Verdict != report.CheckFail || !strings.Contains(k.Why, "own length 64") {
			t.Errorf("too long: %s: %s", k.Verdict, k.Why)
		}
	}
}

// TestNoLibrary has another file in the library's place.
func TestNoLibrary(t *testing.T) {
	t.Setenv("ORT_LIB", filepath.Join(models, "onnx/gpt2-dy23.onnx"))
	p := pair("a.onnx", "b.onnx", 8)
	if k := run(t, p); len(k) != 1 || k[0].Verdict != report.CheckSkipped || !strings.Contains(k[0].Why, "ORT_LIB") {
		t.Errorf("got %+v", k)
	}
}

func TestHalf(t *testing.T) {
	for _, x := range []float32{0, 1, -2.5, 1024, 0.125} {
		if got := widened(half(x)); got != float64(x) {
			t.Errorf("%g became %g", x, got)
		}
	}
}

func TestFeed(t *testing.T) {
	free := func(name string, kind onnxruntime.Type, labels ...string) onnxruntime.Input {
		in := onnxruntime.Input{Name: name, Type: kind, Labels: labels}
		for range labels {
			in.Dims = append(in.Dims, -1)
		}
		return in
	}
	got, err := feed([]onnxruntime.Input{
		free("input_ids", onnxruntime.Int64, "batch", "s72"),
		free("attention_mask", onnxruntime.Int64, "batch", "past_sequence_length + sequence_length"),
		free("past_key_values.0.key", onnxruntime.Float32, "batch_size", "heads", "past_sequence_length", "dim"),
		free("position_ids", onnxruntime.Int64, "batch", ""),
		free("pad", onnxruntime.Float32, "batch", "seq"),
	}, map[string][]int{"past_key_values.0.key": {0, 0, 0, 16}}, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{5, 5, 0, 5, 5} {
		if n := elementsOf(got[i].Dims); n != want {
			t.Errorf("%s has %d elements (%v), want %d", got[i].Name, n, got[i].Dims, want)
		}
	}
	if d := got[2].Dims; d[2] != 0 || d[3] != 16 {
		t.Errorf("the cache is %v", d)
	}
	if last := got[3].Data[4*8]; last != 4 {
		t.Errorf("the last position is %d", last)
	}
	if slices.ContainsFunc(got[4].Data, func(b byte) bool { return b != 0 }) {
		t.Errorf("what marks padding is %v", got[4].Data)
	}
}
