package patch

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// randomPlan draws edits that do not overlap, in any order.
func randomPlan(r *rand.Rand, size int64) []Edit {
	var edits []Edit
	for at := int64(0); at <= size && len(edits) < 12; {
		at += r.Int64N(size/4 + 2)
		if at > size {
			break
		}
		old := int64(0)
		if r.IntN(3) > 0 {
			old = r.Int64N(size - at + 1)
		}
		new := make([]byte, r.IntN(40))
		for i := range new {
			new[i] = byte('A' + r.IntN(26))
		}
		edits = append(edits, Edit{At: at, Old: old, New: Bytes(new)})
		at += old
		if old == 0 {
			at++ // inserts at one place have an order, which shuffling would lose
		}
	}
	r.Shuffle(len(edits), func(i, j int) { edits[i], edits[j] = edits[j], edits[i] })
	return edits
}

// TestRandomPlans holds reader, view and file against the naive application,
// and the bytes that no edit touches against the original.
func TestRandomPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	dir := t.TempDir()
	for i := range 300 {
		old := make([]byte, r.IntN(3000))
		if i%10 == 0 {
			old = make([]byte, 200000+r.IntN(200000)) // kept ranges for the kernel
		}
		for k := range old {
			old[k] = byte(r.Uint32())
		}
		edits := randomPlan(r, int64(len(old)))
		want := applyNaively(old, edits)
		path := writeFile(t, dir, "in", string(old))
		p := filePlan(path, edits...)
		if got := readPlan(t, p, 0, string(old)); got != string(want) {
			t.Fatalf("plan %d: reader differs", i)
		}
		view := make([]byte, len(want))
		if _, err := io.ReadFull(io.NewSectionReader(p.View(0, bytes.NewReader(old)), 0, int64(len(want))), view); err != nil || !bytes.Equal(view, want) {
			t.Fatalf("plan %d: view differs: %v", i, err)
		}
		out := filepath.Join(dir, "out")
		if _, err := WriteNew(context.Background(), p, out, WriteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(out)
		if !bytes.Equal(got, want) {
			t.Fatalf("plan %d: file differs", i)
		}
		for s := range p.Segments(0) {
			if s.New == nil && !bytes.Equal(got[s.At:s.At+s.Size], old[s.From:s.From+s.Size]) {
				t.Fatalf("plan %d: untouched bytes differ", i)
			}
		}
	}
}

// FuzzPlan makes plans of arbitrary numbers: Check must refuse the unsound,
// and what it passes must apply as the naive way does.
func FuzzPlan(f *testing.F) {
	seed := func(numbers ...int64) {
		var b []byte
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		f.Add([]byte("0123456789abcdef"), b)
	}
	seed(0, 1, 2, 8, 0, 3)
	seed(4, 4, 4, 8, 4, 0, 16, 0, 5)
	seed(-1, 2, 2)
	seed(15, 1<<62, 1)
	seed(3, 2, 1, 4, 2, 1)
	f.Fuzz(func(t *testing.T, old, numbers []byte) {
		old = old[:min(len(old), 4096)]
		var edits []Edit
		inserts := make(map[int64]bool)
		for len(numbers) >= 24 && len(edits) < 20 {
			at := int64(binary.LittleEndian.Uint64(numbers))
			size := int64(binary.LittleEndian.Uint64(numbers[8:]))
			n := int64(binary.LittleEndian.Uint64(numbers[16:])) % 50
			numbers = numbers[24:]
			if size == 0 && inserts[at] {
				continue
			}
			inserts[at] = inserts[at] || size == 0
			edits = append(edits, Edit{At: at, Old: size, New: Bytes(bytes.Repeat([]byte("N"), int(max(n, 0))))})
		}
		p := onePlan(int64(len(old)), edits...)
		if p.Check() != nil {
			return
		}
		want := applyNaively(old, edits)
		got, err := io.ReadAll(p.NewReader(0, bytes.NewReader(old)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", err, got, want)
		}
		if p.OutputSize(0) != int64(len(want)) {
			t.Errorf("size %d, want %d", p.OutputSize(0), len(want))
		}
	})
}
