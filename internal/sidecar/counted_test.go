package sidecar

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
)

// sidecarShapes are configurations of n things of one kind each.
var sidecarShapes = []struct {
	name string
	make func(n int) string
}{
	{"keys", func(n int) string {
		return "{" + repeated(n, func(i int) string { return fmt.Sprintf(`"k%d":%d`, i, i) }) + `,"n_ctx":32}`
	}},
	{"keys on the way to a number, each twice", func(n int) string {
		return "{" + repeated(n, func(int) string { return `"n_\u0063tx":32` }) + "}"
	}},
	{"objects on the way to a number", func(n int) string {
		return "{" + repeated(n, func(int) string { return `"text_config":{"n":1}` }) + `,"n_ctx":32}`
	}},
	{"arrays inside one another", func(n int) string {
		const depth = 100
		nested := strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth)
		return `{"n_ctx":32,"text_config":[` + repeated(n/depth, func(int) string { return nested }) + "]}"
	}},
	{"numbers of an array", func(n int) string {
		return `{"n_ctx":32,"max_seq_len":[` + repeated(n, strconv.Itoa) + "]}"
	}},
}

func repeated(n int, each func(int) string) string {
	var all []string
	for i := range n {
		all = append(all, each(i))
	}
	return strings.Join(all, ",")
}

// TestAllocationsGrowWithTheSidecar counts what is allocated for configurations of
// doubling size, in things and in bytes, and for patches of as many numbers beside a
// model. Larger ones than maxSidecar are passed over.
func TestAllocationsGrowWithTheSidecar(t *testing.T) {
	first := 256
	if n, err := strconv.Atoi(os.Getenv("COUNTED_NODES")); err == nil {
		first = n
	}
	for _, shape := range sidecarShapes {
		t.Run(shape.name, func(t *testing.T) {
			var before [2]uint64
			for n := first; n <= 4*first; n *= 2 {
				folder := t.TempDir()
				if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(shape.make(n)), 0o600); err != nil {
					t.Fatal(err)
				}
				model, numbers := filepath.Join(folder, "m.gguf"), []patch.PatchBeside{}
				for i := range n {
					numbers = append(numbers, patch.PatchBeside{Name: "config.json", Pointer: "/n_ctx", Old: strconv.Itoa(i + 33), New: "64"})
				}
				start := time.Now()
				found, made := 0, allocations(func() { OfPatch(t.Context(), model, numbers, false, source.Options{}) })
				more := allocations(func() {
					all, _, _ := Find(t.Context(), model, []Restated{{Positions, 32, 64}}, source.Options{})
					for _, s := range all {
						found += len(s.edits)
						s.changed()
					}
				})
				made = [2]uint64{made[0] + more[0], made[1] + more[1]}
				t.Logf("%7d: %d allocations of %d bytes, %d found, %v", n, made[0], made[1], found, time.Since(start).Round(time.Millisecond))
				for i, what := range []string{"allocations", "bytes"} {
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
func allocations(do func()) (made [2]uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return [2]uint64{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}
}
