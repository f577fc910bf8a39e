package change_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// models are the corpus, or the small models of testdata where it is absent.
func models(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/corpus/*/*.gguf")
	more, _ := filepath.Glob("../../../shared/corpus/*/*.onnx")
	files = append(files, more...)
	if len(files) == 0 {
		files, _ = filepath.Glob("../../testdata/gguf/*.gguf")
	}
	var out []string
	seen := map[string]bool{}
	for _, f := range files {
		if later := strings.Contains(f, "-of-") && !strings.Contains(f, "-00001-of-"); !later && !seen[f] {
			out, seen[f] = append(out, f), true
		}
	}
	if len(out) == 0 {
		t.Skip("no models here")
	}
	return out
}

// lengths are what a model is extended to: one, for there are many models, but
// with MODELPATCH_SLOW more.
func lengths(r report.Inspect) []int {
	n := 64
	if r.Length.Capacity != nil {
		n = *r.Length.Capacity
	} else if r.Length.Stated != nil {
		n = *r.Length.Stated
	}
	if os.Getenv("MODELPATCH_SLOW") != "" {
		return []int{n + 128, 4 * n, n + 1}
	}
	return []int{n + 128}
}

// copyModel copies a model with all its files into a folder.
func copyModel(t *testing.T, r report.Inspect, folder string) (path string) {
	t.Helper()
	for _, f := range append(r.Files, report.File{Path: r.Path}) {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(folder, filepath.Base(f.Path))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// keepsUntouched checks that what lies between the edits of one file is in the
// result, byte for byte and in order.
func keepsUntouched(t *testing.T, before, after string, edits []report.Edit) {
	t.Helper()
	old, err := os.ReadFile(before)
	if err != nil {
		t.Fatal(err)
	}
	new, err := os.ReadFile(after)
	if err != nil {
		t.Fatal(err)
	}
	from, to := int64(0), int64(0)
	kept := func(end int64) {
		if n := end - from; to+n > int64(len(new)) || !bytes.Equal(old[from:end], new[to:to+n]) {
			t.Errorf("%s: bytes %d to %d differ", filepath.Base(before), from, end)
		}
		to += end - from
	}
	for _, e := range edits {
		if filepath.Base(e.File) != filepath.Base(before) {
			continue
		}
		kept(e.Range[0])
		from, to = e.Range[1], to+e.Bytes
	}
	kept(int64(len(old)))
	if to != int64(len(new)) {
		t.Errorf("%s: %d bytes more than the plan says", filepath.Base(before), int64(len(new))-to)
	}
}

// TestUntouched extends every model, by new files and in place: bytes that the
// plan does not name stay; the same command gives the same bytes; a patch file
// gives them too, and takes them back; so does the undo of an edit in place.
func TestUntouched(t *testing.T) {
	var written, placed atomic.Int64
	t.Run("models", func(t *testing.T) {
		for _, path := range models(t) {
			r, err := modelpatch.Inspect(t.Context(), path, modelpatch.OpenOptions{})
			if err != nil || len(r.Encodings) == 0 {
				continue
			}
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel() // it mostly waits for the disk
				for i, n := range lengths(r) {
					o := position.ExtendOptions{Length: n}
					if !writtenAnew(t, r, o, i == 0) {
						continue
					}
					written.Add(1)
					if changedInPlace(t, r, o) {
						placed.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d written anew, %d changed in place", written.Load(), placed.Load())
	if written.Load() == 0 || placed.Load() == 0 {
		t.Error("nothing was tested")
	}
}

// writtenAnew makes the change to a new file, and by a patch file too.
func writtenAnew(t *testing.T, r report.Inspect, o position.ExtendOptions, byPatch bool) bool {
	t.Helper()
	folder := t.TempDir()
	defer os.RemoveAll(folder)
	target := filepath.Join(folder, "out"+filepath.Ext(r.Path))
	result, err := modelpatch.Extend(context.Background(), r.Path, modelpatch.ExtendOptions{ExtendOptions: o, Write: modelpatch.WriteOptions{Output: target}})
	if err != nil || result.Nothing != "" {
		return false
	}
	sources := []string{r.Path}
	for _, f := range r.Files {
		sources = append(sources, f.Path)
	}
	for i, w := range result.Plan.Written {
		keepsUntouched(t, sources[i], w.Path, result.Plan.Edits)
	}
	if len(sources) == 1 && byPatch {
		thereAndBack(t, r.Path, target, o, folder)
	}
	return true
}

// thereAndBack makes the same change by a patch file.
func thereAndBack(t *testing.T, path, target string, o position.ExtendOptions, folder string) {
	t.Helper()
	ctx, open := context.Background(), modelpatch.OpenOptions{}
	again, back := filepath.Join(folder, "again"+filepath.Ext(path)), filepath.Join(folder, "back")
	if _, err := modelpatch.Extend(ctx, path, modelpatch.ExtendOptions{ExtendOptions: o, Open: open, Write: modelpatch.WriteOptions{Output: again, PatchOnly: true, FullDigest: true}}); err != nil {
		t.Fatal(err)
	}
	if _, err := modelpatch.Apply(ctx, again+".mpatch", path, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{Output: again}}); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	sameFile(t, again, target)
	if _, err := modelpatch.Revert(ctx, again+".mpatch", again, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{Output: back}}); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	sameFile(t, back, path)
}

// changedInPlace makes the change to a copy, and takes it back.
func changedInPlace(t *testing.T, r report.Inspect, o position.ExtendOptions) bool {
	t.Helper()
	ctx, open := context.Background(), modelpatch.OpenOptions{}
	folder := t.TempDir()
	defer os.RemoveAll(folder)
	path := copyModel(t, r, folder)
	result, err := modelpatch.Extend(ctx, path, modelpatch.ExtendOptions{ExtendOptions: o, Open: open, Write: modelpatch.WriteOptions{InPlace: true}})
	if err != nil {
		if code := modelpatch.ExitCode(err); code != modelpatch.ExitRefused {
			t.Errorf("%s to %d in place: exit code %d: %v", r.Path, o.Length, code, err)
		}
		sameFile(t, path, r.Path)
		return false
	}
	keepsUntouched(t, r.Path, path, result.Plan.Edits)
	if m, err := modelpatch.Inspect(t.Context(), path, open); err != nil || m.Length.Capacity != nil && *m.Length.Capacity < o.Length {
		t.Errorf("%s to %d in place: %v", r.Path, o.Length, err)
	}
	undo := result.Plan.Written[len(result.Plan.Written)-1]
	changed := result.Plan.Written[0].Path
	if _, err := modelpatch.Revert(ctx, undo.Path, changed, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{InPlace: true}}); err != nil {
		t.Errorf("%s: %v", r.Path, err)
		return true
	}
	sameFile(t, path, r.Path)
	return true
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	x, err1 := os.ReadFile(a)
	y, err2 := os.ReadFile(b)
	if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Errorf("%s differs from %s: %v %v", a, b, err1, err2)
	}
}
