//go:build unix

package benchmarks

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// inPlace measures changes in place of a 2 GB file, each taken back by its undo
// file outside of what is measured, against cp and sync of the same file.
func inPlace(b *testing.B, change func(i int) []string) {
	modelpatch := tool(b)
	folder := b.TempDir()
	model, copied := filepath.Join(folder, "model.gguf"), filepath.Join(folder, "copy.gguf")
	undo := model + ".undo.mpatch"
	writeGGUF(b, model)
	run(b, true, "cp", "--reflink=never", model, copied) // warm the cache
	var t turns
	var waits []usage
	for i := 0; b.Loop(); i++ {
		t.run(func() usage {
			os.Remove(copied)
			settle()
			return run(b, true, "cp", "--reflink=never", model, copied)
		}, func() usage {
			settle()
			waits = append(waits, usage{wall: syncs(b, folder)})
			return run(b, false, modelpatch, append(change(i), "--in-place", model)...)
		})
		checkTail(b, model, copied)
		run(b, false, modelpatch, "revert", undo, model, "--in-place")
		os.Remove(undo)
	}
	t.report(b, "in-place")
	b.ReportMetric(milliseconds(median(waits, wall)), "ms-syncs")
	b.ReportMetric(milliseconds(median(t.own, cpu)), "ms-cpu")
}

// protocolSyncs is how often an edit in place waits for the disk: undo file,
// journal, folder, target, folder (facts/BAD-INPUTS §5).
const protocolSyncs = 5

// syncs is how long as many waits take here for a block each.
func syncs(b *testing.B, folder string) time.Duration {
	f, err := os.Create(filepath.Join(folder, "scratch"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	begin := time.Now()
	for i := range protocolSyncs {
		if _, err := f.WriteAt(block, int64(i*len(block))); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// BenchmarkInPlaceValueGGUF2GB changes one number of the header.
func BenchmarkInPlaceValueGGUF2GB(b *testing.B) {
	inPlace(b, func(i int) []string {
		return []string{"extend", "--method", "none", "--len", strconv.Itoa(4097 + i)}
	})
}

// BenchmarkInPlaceKeysGGUF2GB adds YaRN's keys, for which there is no room:
// a block is inserted where the file system can, and else this is skipped.
func BenchmarkInPlaceKeysGGUF2GB(b *testing.B) {
	needInsertion(b)
	inPlace(b, func(int) []string { return []string{"extend", "--len", "8192"} })
}
