package extents

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestWithout holds what is left of two lists of extents.
func TestWithout(t *testing.T) {
	for name, c := range map[string]struct {
		x, y []extent
		want []Range
	}{
		"nothing":                 {nil, nil, []Range{{0, 100}}},
		"all":                     {[]extent{{0, 7, 100}}, []extent{{0, 7, 100}}, nil},
		"cut otherwise":           {[]extent{{0, 7, 40}, {40, 47, 60}}, []extent{{0, 7, 100}}, nil},
		"begin before":            {[]extent{{-10, 1000, 60}}, []extent{{-30, 980, 200}}, []Range{{50, 100}}},
		"other places":            {[]extent{{0, 7, 100}}, []extent{{0, 8, 100}}, []Range{{0, 100}}},
		"a hole in the middle":    {[]extent{{0, 500, 30}, {70, 570, 30}}, []extent{{0, 500, 100}}, []Range{{30, 70}}},
		"one block was rewritten": {[]extent{{0, 500, 100}}, []extent{{0, 500, 20}, {20, 9000, 10}, {30, 530, 70}}, []Range{{20, 30}}},
	} {
		if got := without(c.x, c.y, 100); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestUnshared asks the file system of a copy that shares its blocks, and of one of which some were
// written since, also where that is not on the disk yet.
func TestUnshared(t *testing.T) {
	folder := os.Getenv("MODELPATCH_REFLINK") // on XFS or Btrfs
	if folder == "" {
		folder = t.TempDir()
	} else if made, err := os.MkdirTemp(folder, ""); err == nil {
		folder = made
		t.Cleanup(func() { os.RemoveAll(made) })
	}
	const n = 4 << 20
	content := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(content)
	a, b := filepath.Join(folder, "a"), filepath.Join(folder, "b")
	if err := os.WriteFile(a, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "--reflink=always", a, b).CombinedOutput(); err != nil {
		t.Skipf("skipped by name: shared blocks (%s); MODELPATCH_REFLINK names a folder on XFS or Btrfs", bytes.TrimSpace(out))
	}
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	x, y := open(a), open(b)
	if got := Unshared(x, y, 0, 0, n); len(got) != 0 {
		t.Errorf("of a copy %v are read", got)
	}
	if got := Unshared(x, y, 0, 8, n-8); len(got) != 1 || got[0] != (Range{0, n - 8}) {
		t.Errorf("of bytes that are shifted by 8, %v are read", got)
	}
	if _, err := y.WriteAt([]byte{^content[1<<20]}, 1<<20); err != nil {
		t.Fatal(err)
	}
	got := Unshared(x, y, 0, 0, n)
	if len(got) != 1 || got[0][0] > 1<<20 || got[0][1] <= 1<<20 || got[0][1]-got[0][0] > 1<<20 {
		t.Errorf("after a byte was written at %d, %v are read", 1<<20, got)
	}
	got = Unshared(x, y, 1<<20-100, 1<<20-100, 200)
	if len(got) != 1 || got[0][0] > 100 || got[0][1] <= 100 {
		t.Errorf("around that byte %v are read", got)
	}
	if got := Unshared(x, x, 0, 0, n); len(got) != 1 {
		t.Errorf("a file and itself: %v", got)
	}
}
