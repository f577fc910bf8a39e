package onnxpos

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// TestLayersWithoutRotation takes the rotation out of the second layer of a Llama, as layers are in
// SmolLM3: inspect tells which layers turn, and extend that the others see all.
func TestLayersWithoutRotation(t *testing.T) {
	const llama = "../../testdata/onnx/llama-dy23.onnx"
	whole := position.Inspect(opened(t, llama)).Encodings[0]
	if whole.Layers != nil || whole.Parameters.Unrotated != nil || whole.Parameters.Window != nil {
		t.Errorf("the whole model: layers %v, not %v, window %v", whole.Layers, whole.Parameters.Unrotated, whole.Parameters.Window)
	}
	f, err := onnx.Open(llama, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := onnx.NewEditor(f)
	var turns, last *onnx.Node
	plain := map[string]string{} // what a rotation turns, by what it gives
	for _, n := range f.Graph.Nodes {
		switch n.Op {
		case "RotaryEmbedding":
			turns = n
			plain[turns.Output(0)] = turns.Input(0)
		case "Attention":
			last = n
		}
	}
	for i := range 2 {
		e.RenameInput(last, i, plain[last.Input(i)], "without its rotation")
	}
	e.RemoveUnread("without its rotation")
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(llama)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	to := filepath.Join(t.TempDir(), "nope.onnx")
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadFrom(plan.NewReader(0, in)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	m := opened(t, to)
	got := position.Inspect(m).Encodings[0]
	if want := (report.Layers{0}); !reflect.DeepEqual(got.Layers, want) {
		t.Errorf("layers %v, want %v", got.Layers, want)
	}
	if want := (report.Layers{1}); !reflect.DeepEqual(got.Parameters.Unrotated, want) {
		t.Errorf("layers without rotation %v, want %v", got.Parameters.Unrotated, want)
	}
	outcome, err := position.Extend(m, position.ExtendOptions{Length: 64, Method: "linear", OriginalLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(outcome.Notes, func(says string) bool { return strings.HasPrefix(says, "layers 1 turn nothing") }) {
		t.Errorf("notes %q of %+v", outcome.Notes, outcome)
	}
}
