package onnxpos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// doNothing makes nodes from a value to another that is the same, none where its
// type or rank does not allow it.
type doNothing struct {
	name  string
	nodes func(e *onnx.Editor, g *onnx.Graph, opset int64, v *eval.Value, from, to string) []onnx.NewNode
}

var doNothings = []doNothing{
	{"Identity", func(_ *onnx.Editor, _ *onnx.Graph, _ int64, _ *eval.Value, from, to string) []onnx.NewNode {
		return []onnx.NewNode{{Op: "Identity", Inputs: []string{from}, Outputs: []string{to}}}
	}},
	{"Dropout", func(_ *onnx.Editor, _ *onnx.Graph, _ int64, v *eval.Value, from, to string) []onnx.NewNode {
		if !v.Type.IsFloat() {
			return nil
		}
		return []onnx.NewNode{{Op: "Dropout", Inputs: []string{from}, Outputs: []string{to}}}
	}},
	{"Unsqueeze and Squeeze", func(e *onnx.Editor, g *onnx.Graph, opset int64, _ *eval.Value, from, to string) []onnx.NewNode {
		pair := []onnx.NewNode{{Op: "Unsqueeze", Inputs: []string{from}, Outputs: []string{to + "_unsqueezed"}},
			{Op: "Squeeze", Inputs: []string{to + "_unsqueezed"}, Outputs: []string{to}}}
		for i := range pair {
			if opset < 13 {
				pair[i].Attributes = []onnx.NewAttribute{{Name: "axes", Value: []int64{0}}}
				continue
			}
			axes := e.AddInitializer(g, "axes", onnx.Int64, []int64{1}, make([]byte, 8), "test")
			pair[i].Inputs = append(pair[i].Inputs, axes)
		}
		return pair
	}},
	{"Mul by 1", func(e *onnx.Editor, g *onnx.Graph, _ int64, v *eval.Value, from, to string) []onnx.NewNode {
		one, err := onnx.EncodeFloats(v.Type, []float64{1}, nil)
		if !v.Type.IsFloat() || err != nil {
			return nil
		}
		return []onnx.NewNode{{Op: "Mul", Inputs: []string{from, e.AddInitializer(g, "one", v.Type, nil, one, "test")}, Outputs: []string{to}}}
	}},
	{"Cast", func(_ *onnx.Editor, _ *onnx.Graph, _ int64, v *eval.Value, from, to string) []onnx.NewNode {
		if v.Type == 0 {
			return nil
		}
		return []onnx.NewNode{{Op: "Cast", Inputs: []string{from}, Outputs: []string{to}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(v.Type)}}}}
	}},
	{"Transpose twice", func(_ *onnx.Editor, _ *onnx.Graph, _ int64, v *eval.Value, from, to string) []onnx.NewNode {
		if len(v.Shape) < 2 {
			return nil
		}
		reversed := []onnx.NewAttribute{{Name: "perm", Value: make([]int64, len(v.Shape))}}
		for i := range v.Shape {
			reversed[0].Value.([]int64)[i] = int64(len(v.Shape) - 1 - i)
		}
		return []onnx.NewNode{{Op: "Transpose", Inputs: []string{from}, Outputs: []string{to + "_reversed"}, Attributes: reversed},
			{Op: "Transpose", Inputs: []string{to + "_reversed"}, Outputs: []string{to}, Attributes: reversed}}
	}},
}

// insertBehindAll puts do-nothing nodes behind every output of a node that other
// nodes of the same graph read, and returns the model's file.
func insertBehindAll(t *testing.T, m *Model, what doNothing) (content []byte, inserted int) {
	t.Helper()
	e := onnx.NewEditor(m.graph.File)
	seen := map[*onnx.Graph]bool{}
	for _, s := range m.graph.Eval.Scopes() {
		if seen[s.Graph] {
			continue
		}
		seen[s.Graph] = true
		for _, n := range s.Graph.Nodes {
			for _, o := range n.Outputs {
				readers := s.Consumers(o)
				if o == "" || len(readers) == 0 {
					continue
				}
				to := e.FreshName("nothing/" + o)
				nodes := what.nodes(e, s.Graph, m.graph.File.Opsets[""], s.Value(o), o, to)
				if nodes == nil {
					continue
				}
				inserted++
				e.InsertNodes(readers[0], nodes, "test")
				for _, r := range readers {
					for i, in := range r.Inputs {
						if in == o {
							e.RenameInput(r, i, to, "test")
						}
					}
				}
			}
		}
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return rewritten(t, plan, m.graph.File.Path), inserted
}

// rewritten is the root file as a plan leaves it.
func rewritten(t *testing.T, plan patch.Plan, path string) []byte {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(plan.NewReader(0, bytes.NewReader(before))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// claims is what inspect says of a model, but for where it says it.
func claims(m *Model) string {
	r := position.Inspect(m)
	type claim struct {
		Scheme, Beyond string
		Form           *string
		Capacity       *int
		Parameters     report.Parameters
	}
	var out []claim
	for _, e := range r.Encodings {
		out = append(out, claim{e.Scheme, e.Beyond, e.Form, e.Capacity, e.Parameters})
	}
	b, _ := json.Marshal(struct {
		Encodings []claim
		Length    report.Length
	}{out, r.Length})
	return string(b)
}

// TestDoNothingNodes holds that nodes which change no number change no report
// (a metamorphic test): Dropout, Unsqueeze/Squeeze, Mul by 1, Cast and Transpose
// pairs behind every output.
func TestDoNothingNodes(t *testing.T) {
	var paths []string
	for _, pattern := range []string{own + "/*.onnx", own + "/cases/*.onnx", corpus + "/onnx/*.onnx", corpus + "/order/*.onnx"} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	tried := 0
	for _, path := range paths {
		m := opened(t, path)
		if len(m.graph.File.DataFiles()) > 0 {
			continue
		}
		want := claims(m)
		for _, what := range doNothings {
			t.Run(fmt.Sprintf("%s/%s", filepath.Base(path), what.name), func(t *testing.T) {
				content, inserted := insertBehindAll(t, m, what)
				tried += inserted
				f, err := onnx.NewFile(bytes.NewReader(content), int64(len(content)))
				if err != nil {
					t.Fatal(err)
				}
				changed, err := New(f)
				if err != nil {
					t.Fatal(err)
				}
				if got := claims(changed); got != want {
					t.Errorf("with %d pairs behind outputs\n%s, without\n%s", inserted, got, want)
				}
			})
		}
	}
	if tried < 1000 {
		t.Errorf("%d nodes were inserted, too few to show anything", tried)
	}
}
