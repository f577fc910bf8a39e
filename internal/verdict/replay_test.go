package verdict_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/report"
)

// TestGuessesThatMissSayNothing: a node that reads another input is told as that, and not by what a change of operators
// would have made of the file.
func TestGuessesThatMissSayNothing(t *testing.T) {
	source, target := "../../testdata/onnx/llama-dy23.onnx", filepath.Join(t.TempDir(), "faulty.onnx")
	f, err := onnx.Open(source, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, last := onnx.NewEditor(f), (*onnx.Node)(nil)
	for _, n := range f.Graph.Nodes {
		if n.Op == "Mul" {
			last = n
		}
	}
	e.RenameInput(last, 0, last.Input(1), "fault")
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b, err := io.ReadAll(p.NewReader(0, in))
	if err == nil {
		err = os.WriteFile(target, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := modelpatch.Verify(t.Context(), target, modelpatch.VerifyOptions{Before: source, NoEngine: true})
	if err != nil {
		t.Fatal(err)
	}
	if v.Verdict != report.VerdictDifferent || !strings.Contains(v.Summary, `node "`+last.Output(0)+`"`) || strings.Contains(v.Summary, "rope") || v.Hints != nil {
		t.Errorf("%s: %s; %v", v.Verdict, v.Summary, v.Hints)
	}
}
