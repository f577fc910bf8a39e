package eval

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/onnx"
)

// FuzzEvaluate runs arbitrary models at small sizes: no panic, no sizes that
// contradict the content, and an end in bounded time.
func FuzzEvaluate(f *testing.F) {
	for _, pattern := range []string{"../../testdata/onnx/*.onnx", "../../../shared/corpus/onnx/hand-*.onnx", "../../../shared/corpus/onnx/nodetests/*/model.onnx"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 48<<10 {
				f.Add(b, byte(5))
			}
		}
	}
	for _, c := range operators {
		n := onnx.NewNode{Op: c.op, Attributes: c.attributes, Outputs: []string{"out"}}
		m := onnx.NewModel{Opset: 18}
		for i, text := range c.in {
			v := val(text)
			if v == nil {
				n.Inputs = append(n.Inputs, "")
				continue
			}
			name := string(rune('a' + i))
			n.Inputs = append(n.Inputs, name)
			dims := make([]int64, len(v.Shape))
			for k, d := range v.Shape {
				dims[k] = int64(d)
			}
			raw, err := onnx.EncodeFloats(v.Type, v.Floats, nil)
			if v.Ints != nil {
				raw, err = onnx.EncodeInts(v.Type, v.Ints, nil)
			}
			if err == nil && v.Known() {
				m.Initializers = append(m.Initializers, onnx.NewTensor{Name: name, Type: v.Type, Dims: dims, Raw: raw})
			} else {
				m.Inputs = append(m.Inputs, onnx.NewValue{Name: name, Type: v.Type, Dims: dims})
			}
		}
		m.Nodes = []onnx.NewNode{n}
		f.Add(m.Build(), byte(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, size byte) {
		file, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		inputs := map[string]*Value{}
		for _, in := range file.Graph.Inputs {
			shape := make([]int, len(in.Dims))
			for i, d := range in.Dims {
				if shape[i] = int(size % 16); d.Value >= 0 && d.Value < 64 {
					shape[i] = int(d.Value)
				}
			}
			v := Shaped(in.Type, shape...)
			if in.Type.IsInteger() && v.Len() < 1<<12 {
				v.Ints = make([]int64, v.Len())
				for i := range v.Ints {
					v.Ints[i] = int64(i)
				}
				v.Data = true
			}
			inputs[in.Name] = v
		}
		start := time.Now()
		e := New(file, inputs)
		e.Run()
		if took := time.Since(start); took > 20*time.Second {
			t.Fatalf("took %v", took)
		}
		for _, s := range e.Scopes() {
			for _, n := range s.Graph.Nodes {
				for _, o := range n.Outputs {
					checkValue(t, n, s.Value(o))
					s.Find(o)
					s.Tensor(o)
					s.Consumers(o)
				}
			}
		}
	})
}

func checkValue(t *testing.T, n *onnx.Node, v *Value) {
	if !v.Ranked && (v.Ints != nil || v.Floats != nil) {
		t.Fatalf("%s: content without shape", n.Op)
	}
	if v.Ranked && v.Ints != nil && len(v.Ints) != v.Len() || v.Floats != nil && len(v.Floats) != v.Len() {
		t.Fatalf("%s: %d and %d elements of shape %v", n.Op, len(v.Ints), len(v.Floats), v.Shape)
	}
	v.Counts()
	for axis := range v.Shape {
		v.Varies(axis)
	}
}
