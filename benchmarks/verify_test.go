//go:build unix

package benchmarks

import (
	"path/filepath"
	"testing"
)

// BenchmarkVerifyGGUF2GB verifies a 2 GB file after a change in place of its copy, against
// cmp of two equal copies in the same run, alternating: both read all bytes of two files. The change
// keeps the length of the file, so that cmp would read on to its end, too.
func BenchmarkVerifyGGUF2GB(b *testing.B) {
	folder := b.TempDir()
	before, after, equal := filepath.Join(folder, "before.gguf"), filepath.Join(folder, "after.gguf"), filepath.Join(folder, "equal.gguf")
	writeGGUF(b, before)
	for _, copied := range []string{after, equal} {
		run(b, true, "cp", "--reflink=never", before, copied)
	}
	modelpatch := tool(b)
	run(b, false, modelpatch, "extend", "--len", "8192", "--method", "none", "--in-place", "--no-undo", after)
	compare := func() usage { return run(b, false, "cmp", before, equal) }
	verify := func() usage { return run(b, false, modelpatch, "verify", before, after) }
	compare() // warm the cache
	verify()
	t := turns{beside: "cmp"}
	for b.Loop() {
		t.run(compare, verify)
	}
	t.report(b, "verify")
}
