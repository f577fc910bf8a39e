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
	var peer, own usage
	for i := 0; b.Loop(); i++ {
		os.Remove(copied)
		peer.wall += run(b, true, "cp", "--reflink=never", model, copied).wall
		u := run(b, false, modelpatch, append(change(i), "--in-place", model)...)
		own.wall, own.cpu, own.rss, own.written = own.wall+u.wall, own.cpu+u.cpu, max(own.rss, u.rss), max(own.written, u.written)
		checkTail(b, model, copied)
		run(b, false, modelpatch, "revert", undo, model, "--in-place")
		os.Remove(undo)
	}
	reportPeer(b, "in-place", peer.wall, own)
	b.ReportMetric(float64(syncs(b, folder).Microseconds())/1e3, "ms-syncs")
	b.ReportMetric(float64(own.cpu.Microseconds())/1e3/float64(b.N), "ms-cpu/op")
	b.ReportMetric(float64(own.written)/1e3, "kB-written")
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

// reportPeer says what the tool and cp with sync took.
func reportPeer(b *testing.B, name string, peer time.Duration, own usage) {
	n := float64(b.N)
	b.ReportMetric(float64(peer.Milliseconds())/n, "ms-cp-sync/op")
	b.ReportMetric(float64(own.wall.Microseconds())/1e3/n, "ms-"+name+"/op")
	b.ReportMetric(float64(own.wall)/float64(peer), "×cp-sync")
	b.ReportMetric(float64(own.rss)/1e6, "MB-rss")
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
