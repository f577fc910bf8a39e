package onnxpos

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
)

func TestZW(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/corpus/onnx/*.onnx")
	var a, b time.Duration
	nodes := 0
	for range 3 {
		for _, p := range files {
			f, err := onnx.Open(p, onnx.Options{})
			if err != nil {
				continue
			}
			s := time.Now()
			m, err := New(f)
			a += time.Since(s)
			if err != nil {
				continue
			}
			s = time.Now()
			axes.Pass(m.probe, m.input)
			b += time.Since(s)
			nodes += len(f.Graph.Nodes)
			f.Close()
		}
	}
	fmt.Println("new", a/3, "pass", b/3, "per node", b/time.Duration(nodes))
}
