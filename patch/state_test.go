package patch

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsSayWhatStands fails every operation of each way to write in turn:
// an error says that the change is made exactly where it is, and then in its
// message too.
func TestErrorsSayWhatStands(t *testing.T) {
	const old, new = "old content", "new content"
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		absent bool // there is no old file
		write  func(in, out string, files FS) error
	}{
		{"a new file", true, func(in, out string, files FS) error {
			_, err := WriteNew(ctx, filePlan(in, Edit{Old: int64(len(old)), New: Text(new)}), out, WriteOptions{FS: files})
			return err
		}},
		{"a replaced file", false, func(in, out string, files FS) error {
			_, err := WriteNew(ctx, filePlan(in, Edit{Old: int64(len(old)), New: Text(new)}), out, WriteOptions{FS: files, Backup: true})
			return err
		}},
		{"a saved file", false, func(in, out string, files FS) error {
			_, err := Save(ctx, nil, out, WriteOptions{FS: files, Force: true}, func(w io.Writer) error {
				_, err := io.WriteString(w, new)
				return err
			})
			return err
		}},
		{"in place", false, func(in, out string, files FS) error {
			_, err := InPlace(ctx, filePlan(out, Edit{Old: 3, New: Text("new")}), InPlaceOptions{FS: files, Undo: out + ".undo"})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stood := 0
			for n, done := 1, false; !done; n++ {
				dir := t.TempDir()
				in, out := writeFile(t, dir, "in", old), filepath.Join(dir, "out")
				if !c.absent {
					writeFile(t, dir, "out", old)
				}
				files := &faultFS{FS: OS, failing: n}
				err := c.write(in, out, files)
				done = files.count < n
				stands := exists(out) && readFile(t, out) == new
				o, _ := errors.AsType[*OutputError](err)
				said := o != nil && o.Done
				if err != nil && said != stands || err == nil && !stands {
					t.Errorf("operation %d: the change stands: %v; the error is %v", n, stands, err)
				}
				if said {
					stood++
					if !strings.Contains(err.Error(), "the new file is in place, but") && !strings.Contains(err.Error(), "the change is made, but") {
						t.Errorf("the message does not say what stands: %v", err)
					}
				}
			}
			if stood == 0 {
				t.Error("no fault came after the change")
			}
		})
	}
}

func exists(path string) bool {
	_, err := OS.Lstat(path)
	return err == nil
}
