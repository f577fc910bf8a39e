package ggufpos

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

// keys are what a test file holds.
type keys map[string]gguf.Value

// make1 writes a file with keys and F32 vectors, and opens it.
func make1(t testing.TB, k keys, vectors map[string][]float32) *model {
	t.Helper()
	return opened(t, written(t, k, vectors))
}

// written are the bytes of a file with keys and F32 vectors.
func written(t testing.TB, k keys, vectors map[string][]float32) []byte {
	t.Helper()
	empty := make([]byte, 24)
	copy(empty, "GGUF")
	empty[4] = 3
	f, err := gguf.NewFile(bytes.NewReader(empty), 24)
	if err != nil {
		t.Fatal(err)
	}
	e := f.Edit()
	for key, value := range k {
		e.Set(key, value, "")
	}
	for name, values := range vectors {
		var raw bytes.Buffer
		binary.Write(&raw, binary.LittleEndian, values)
		e.Add(name, gguf.F32, []int64{int64(len(values))}, patch.Bytes(raw.Bytes()), "")
	}
	return edited(t, e, empty)
}

// reopen applies an editor's plan to the bytes of a file and opens the result.
func reopen(t testing.TB, e *gguf.Editor, was []byte) *model {
	t.Helper()
	return opened(t, edited(t, e, was))
}

// edited are the bytes of a file after an editor's plan.
func edited(t testing.TB, e *gguf.Editor, was []byte) []byte {
	t.Helper()
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return applied(t, plan, was)
}

// applied are the bytes of a file after a plan.
func applied(t testing.TB, plan patch.Plan, was []byte) []byte {
	t.Helper()
	out, err := io.ReadAll(plan.NewReader(0, bytes.NewReader(was)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func opened(t testing.TB, file []byte) *model {
	t.Helper()
	again, err := gguf.NewFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(again)
	if err != nil {
		t.Fatal(err)
	}
	return bare(m)
}

// bare is an opened file without what only projectors have.
func bare(m position.Model) *model {
	if p, ok := m.(*projector); ok {
		return p.model
	}
	return m.(*model)
}
