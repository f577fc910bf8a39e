package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/journal"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// TestNote: the journal takes what came of a file that is as it was before it was judged, and only what is the
// file's own.
func TestNote(t *testing.T) {
	type at struct{ dir, model, data string }
	replace := func(path string) error { // by one of the same size and time
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(path+".new", []byte("other"), 0o600), os.Chtimes(path+".new", info.ModTime(), info.ModTime()), os.Rename(path+".new", path))
	}
	for _, c := range []struct {
		name      string
		meanwhile func(at) error
		failed    error
		known     bool
	}{
		{name: "as it was", known: true},
		{name: "malformed", failed: &modelpatch.InputError{Path: "m", What: "header"}, known: true},
		{name: "written", meanwhile: func(p at) error { return os.WriteFile(p.model, []byte("written"), 0o600) }},
		{name: "replaced", meanwhile: func(p at) error { return replace(p.model) }},
		{name: "gone", meanwhile: func(p at) error { return os.Remove(p.model) }},
		{name: "its data replaced", meanwhile: func(p at) error { return replace(p.data) }},
		{name: "a configuration came", meanwhile: func(p at) error { return os.WriteFile(filepath.Join(p.dir, "config.json"), nil, 0o600) }},
		{name: "no right to read", failed: &modelpatch.InputError{Path: "m", Err: &fs.PathError{Op: "open", Path: "m", Err: syscall.EACCES}}},
		{name: "no room", failed: fmt.Errorf("unpacking: %w", syscall.ENOSPC)},
		{name: "output failed", failed: &patch.OutputError{Op: "create", Path: "m"}},
		{name: "interrupted", failed: context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			p := at{dir, filepath.Join(dir, "m"), filepath.Join(dir, "m.data")}
			if err := errors.Join(os.WriteFile(p.model, []byte("model"), 0o600), os.WriteFile(p.data, []byte("bytes"), 0o600)); err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(filepath.Join(dir, "j"), "v1")
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			f, ctx := fleet{journal: j, path: "j"}, context.Background()
			seen := f.further(ctx, p.model, f.before(ctx, p.model), &report.Inspect{Files: []report.File{{Path: p.data}}})
			if c.meanwhile != nil {
				if err := c.meanwhile(p); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.note(ctx, p.model, seen, c.failed, 0, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			if _, known := f.done(ctx, p.model); known != c.known {
				t.Errorf("known: %v", known)
			}
		})
	}
}
