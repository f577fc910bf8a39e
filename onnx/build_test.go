package onnx

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// The helpers here write messages field by field, so that a test can lie in
// any of them.

// msg is a length-delimited field of the given parts.
func msg(n protowire.Number, parts ...[]byte) []byte {
	return appendMessage(nil, n, bytes.Join(parts, nil))
}

func num(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func txt(n protowire.Number, s string) []byte { return appendText(nil, n, s) }

// lie is a length-delimited field whose length prefix claims n bytes.
func lie(f protowire.Number, n uint64, content []byte) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, f, protowire.BytesType), n)
	return append(b, content...)
}

var irAndOpset = append(num(1, 8), msg(8, txt(1, ""), num(2, 17))...)

// modelOf is a complete model of a graph with the given fields.
func modelOf(graph ...[]byte) []byte { return append(bytes.Clone(irAndOpset), msg(7, graph...)...) }

func floats32(n int) []byte {
	b := []byte{}
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i)))
	}
	return b
}

// table is the initializer w of 8 by 4 float32 with further fields.
func table(more ...[]byte) []byte {
	return msg(5, append([][]byte{num(1, 8), num(1, 4), num(2, 1), txt(8, "w")}, more...)...)
}

func raw(n int) []byte { return msg(9, floats32(n)) }

func nodeOf(op string, inputs, outputs []string, more ...[]byte) []byte {
	var parts [][]byte
	for _, in := range inputs {
		parts = append(parts, txt(1, in))
	}
	for _, out := range outputs {
		parts = append(parts, txt(2, out))
	}
	return msg(1, append(append(parts, txt(4, op)), more...)...)
}

// ext is the fields that make a tensor external.
func ext(pairs ...string) []byte {
	b := num(14, 1)
	for i := 0; i+1 < len(pairs); i += 2 {
		b = append(b, msg(13, txt(1, pairs[i]), txt(2, pairs[i+1]))...)
	}
	return b
}

func open(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// applied is the model file that an editor's plan gives.
func applied(t *testing.T, e *Editor, original []byte) []byte {
	t.Helper()
	e.file.Path = "model.onnx" // a plan wants its input named
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(p.NewReader(0, bytes.NewReader(original)))
	if err != nil {
		t.Fatal(err)
	}
	view := make([]byte, len(b))
	if n, err := p.View(0, bytes.NewReader(original)).ReadAt(view, 0); n != len(b) || err != nil && err != io.EOF || !bytes.Equal(view, b) {
		t.Fatalf("View gives other bytes than NewReader: %d, %v", n, err)
	}
	return b
}

// small are the models of testdata.
func small(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../testdata/onnx/*.onnx")
	if err != nil || len(files) == 0 {
		t.Fatalf("no models in testdata: %v", err)
	}
	out := map[string][]byte{}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = b
	}
	return out
}
