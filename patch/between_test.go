package patch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestBetween makes one content of another by the edits that Between finds, and counts what they hold.
func TestBetween(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		out := make([]byte, n)
		for i := range out {
			out[i] = byte(r.Uint32())
		}
		return out
	}
	long := random(300_000)
	changed := bytes.Clone(long)
	changed[100_000] ^= 1
	moved := append(append(bytes.Clone(long[150_000:]), long[:150_000]...), 'x')
	tests := []struct {
		name string
		a, b []byte
		most int64 // bytes that the edits may hold
	}{
		{"both empty", nil, nil, 0},
		{"from nothing", nil, []byte("abc"), 3},
		{"to nothing", []byte("abc"), nil, 3},
		{"equal", long, long, 0},
		{"one byte", long, changed, 2},
		{"an insertion at the start", long, append([]byte("start"), long...), 5},
		{"a deletion at the end", long, long[:299_990], 10},
		{"insertions in two places", long, bytes.Join([][]byte{long[:70_000], []byte("first"), long[70_000:200_000], []byte("second"), long[200_000:]}, nil), 11},
		{"zeros that become more", make([]byte, 200_000), make([]byte, 200_003), 3},
		{"halves in another order", long, moved, 310_000},
		{"nothing in common", random(50_000), random(60_000), 110_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			edits, err := Between(t.Context(), bytes.NewReader(test.a), bytes.NewReader(test.b), int64(len(test.a)), int64(len(test.b)))
			if err != nil {
				t.Fatal(err)
			}
			p := Plan{Inputs: []Input{{Path: "a", Size: int64(len(test.a))}}, Outputs: []Output{{}}, Edits: edits}
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(p.NewReader(0, bytes.NewReader(test.a)))
			if err != nil || !bytes.Equal(got, test.b) {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(test.b))
			}
			held := int64(0)
			for _, e := range edits {
				held += e.Old + sizeOf(e.New)
			}
			if held > test.most || len(edits) > mostBetween {
				t.Errorf("%d edits hold %d bytes, more than %d", len(edits), held, test.most)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Between(ctx, bytes.NewReader(long), bytes.NewReader(long), 1000, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Between(t.Context(), bytes.NewReader(long), bytes.NewReader(long[:10]), 1000, 1000); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

// TestBetweenRandom makes edits by chance and finds ones that lead to the same bytes.
func TestBetweenRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a := make([]byte, r.IntN(40_000))
		for i := range a {
			a[i] = byte(r.IntN(3)) // repetitive
		}
		b := bytes.Clone(a)
		for range r.IntN(6) {
			at := r.IntN(len(b) + 1)
			end := min(len(b), at+r.IntN(500))
			b = append(append(bytes.Clone(b[:at]), make([]byte, r.IntN(300))...), b[end:]...)
		}
		edits, err := Between(t.Context(), bytes.NewReader(a), bytes.NewReader(b), int64(len(a)), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		p := Plan{Inputs: []Input{{Path: "a", Size: int64(len(a))}}, Outputs: []Output{{}}, Edits: edits}
		got, err := io.ReadAll(p.NewReader(0, bytes.NewReader(a)))
		if err != nil || p.Check() != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d to %d bytes: %v, %v", len(a), len(b), err, p.Check())
		}
	}
}
