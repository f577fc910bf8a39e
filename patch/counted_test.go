package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// patchShapes are patch files of n things of one kind each, of a file of zeros.
var patchShapes = []struct {
	name string
	size func(n int) int64
	make func(h *PatchHeader, n int) (body []byte)
}{
	{"edits of one byte between tensors", func(n int) int64 { return int64(4 * n) }, func(h *PatchHeader, n int) []byte {
		for i := range int64(n) {
			h.Edits = append(h.Edits, PatchEdit{At: 4 * i, Old: 1, New: 1})
			h.Data = append(h.Data, [2]int64{4*i + 1, 4*i + 3})
		}
		return bytes.Repeat([]byte{0, 1}, n)
	}},
	{"inserted bytes in one place", func(int) int64 { return 8 }, func(h *PatchHeader, n int) []byte {
		for range n {
			h.Edits = append(h.Edits, PatchEdit{At: 4, New: 1})
		}
		body := make([]byte, n) // that no compression makes fewer than the edits that they may be
		rand.NewChaCha8([32]byte{}).Read(body)
		return body
	}},
	{"edits that change nothing", func(int) int64 { return 8 }, func(h *PatchHeader, n int) []byte {
		h.Edits = make([]PatchEdit, n)
		return nil
	}},
	{"numbers beside the file", func(int) int64 { return 8 }, func(h *PatchHeader, n int) []byte {
		for i := range n {
			h.Beside = append(h.Beside, PatchBeside{"config.json", fmt.Sprint("/", i), "1", "2"})
		}
		return nil
	}},
}

// packed is a patch file of a header and a body, sound or not. The sums are those of
// its own, where that can be.
func packed(t *testing.T, h PatchHeader, body []byte, in io.ReaderAt) []byte {
	t.Helper()
	h.Schema, h.Target.Size = SchemaPatch, h.Source.Size
	for _, e := range h.Edits {
		h.Target.Size += e.New - e.Old
	}
	var err1, err2 error
	h.Outside, err1 = h.outside(in, false)
	h.Around, err2 = h.around(in, false)
	line, err3 := json.Marshal(h)
	z, err4 := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(append(append(line, '\n'), body...), nil)
}

// countedFile counts how often a file is read, and how much.
type countedFile struct {
	r           io.ReaderAt
	reads, size uint64
}

func (c *countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.reads, c.size = c.reads+1, c.size+uint64(n)
	return n, err
}

// TestReadsGrowWithThePatch counts what is read of a file for patches of doubling size,
// and what is allocated: to hold a patch against a file, to apply it and to take it back
// must not go through all of either once more for each edit. Beyond what a patch file
// may hold it is refused in words, before anything grows with it.
func TestReadsGrowWithThePatch(t *testing.T) {
	first := 256
	if n, err := strconv.Atoi(os.Getenv("COUNTED_NODES")); err == nil {
		first = n
	}
	for _, shape := range patchShapes {
		t.Run(shape.name, func(t *testing.T) {
			var before [4]uint64
			for n := first; n <= 4*first; n *= 2 {
				h := PatchHeader{Source: PatchedFile{Name: "m", Size: shape.size(n)}}
				in := bytes.NewReader(make([]byte, h.Source.Size))
				body := shape.make(&h, n)
				b := packed(t, h, body, in)
				start := time.Now()
				file := &countedFile{r: in}
				made := allocations(func() { useOf(t, b, file, h.Source.Size) })
				made[0], made[1] = file.reads, file.size
				t.Logf("%7d: %d reads of %d bytes, %d allocations of %d, %v", n, made[0], made[1], made[2], made[3], time.Since(start).Round(time.Millisecond))
				for i, what := range []string{"reads", "bytes read", "allocations", "bytes allocated"} {
					if before[i] > 0 && made[i] > 3*before[i] { // lists grow by doubling, too
						t.Errorf("%d %s for %d, %d for twice as many", before[i], what, n/2, made[i])
					}
				}
				before = made
			}
		})
	}
}

// allocations counts what a function allocates, and its bytes.
func allocations(do func()) (made [4]uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return [4]uint64{2: after.Mallocs - before.Mallocs, 3: after.TotalAlloc - before.TotalAlloc}
}

// useOf reads a patch, holds it against a file, makes the file that it gives, and
// changes one in place.
func useOf(t *testing.T, packed []byte, file io.ReaderAt, size int64) {
	t.Helper()
	f, err := ReadPatch(bytes.NewReader(packed))
	if err != nil {
		t.Log(err)
		return
	}
	defer f.Close()
	if how, err := f.Differs(file, size, false); how != "" || err != nil {
		t.Fatal(how, err)
	}
	plan := f.Plan("m")
	n, err := io.Copy(io.Discard, plan.NewReader(0, file))
	if err != nil || n != f.Target.Size {
		t.Fatal(n, err)
	}
	if _, err := f.Differs(plan.View(0, file), f.Target.Size, true); err != nil {
		t.Fatal(err)
	}
	if f.Target.Size != size {
		return
	}
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := InPlace(t.Context(), f.Plan(path), InPlaceOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestAllocationsGrowWithTheFiles counts what is allocated for plans of doubling numbers
// of files, each with an edit: no output makes a list of the edits of all.
func TestAllocationsGrowWithTheFiles(t *testing.T) {
	var before uint64
	for n := 256; n <= 1024; n *= 2 {
		p := Plan{}
		for i := range n {
			p.Inputs = append(p.Inputs, Input{Path: fmt.Sprint("m", i), Size: 8})
			p.Outputs = append(p.Outputs, Output{Input: i, Name: fmt.Sprint("o", i)})
			p.Edits = append(p.Edits, Edit{File: n - 1 - i, At: 4, Old: 1, New: Text("new")})
		}
		made := allocations(func() {
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			for i := range p.Outputs {
				for s := range p.Segments(i) {
					if s.New != nil && s.Edit != i {
						t.Fatalf("edit %d is in output %d", s.Edit, i)
					}
				}
				p.Edited(i)
				p.OutputSize(i)
			}
		})
		if before > 0 && made[3] > 3*before {
			t.Errorf("%d bytes for %d files, %d for twice as many", before, n/2, made[3])
		}
		before = made[3]
	}
}
