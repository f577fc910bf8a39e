package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/patch"
)

// TestUnfinishedEdit: a file in the middle of an edit is not read as if it were whole, whatever leads to it.
func TestUnfinishedEdit(t *testing.T) {
	folder := t.TempDir()
	model, link := filepath.Join(folder, "m.gguf"), filepath.Join(folder, "link.gguf")
	content, err := os.ReadFile("../../testdata/gguf/llama-plain.gguf")
	if err == nil {
		err = os.WriteFile(model, content, 0o600)
	}
	if err == nil {
		err = os.Symlink(model, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	journal := ""
	err = patch.CanEdit(model, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := patch.Plan{Inputs: []patch.Input{{Path: model, Size: int64(len(content))}}, Outputs: []patch.Output{{Name: "m.gguf"}}, Edits: []patch.Edit{{At: 8, Old: 1, New: patch.Text("x")}}}
	_, err = patch.InPlace(t.Context(), plan, patch.InPlaceOptions{Check: func(string) error {
		entries, err := os.ReadDir(folder) // the edit stands under its journal now
		for _, e := range entries {
			if strings.Contains(e.Name(), "journal") {
				journal = e.Name()
			}
		}
		for _, path := range []string{model, link} {
			if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "unfinished edit") {
				t.Errorf("%s: %v", path, err)
			}
		}
		return errors.Join(err, errors.New("enough"))
	}})
	if err == nil || journal == "" {
		t.Errorf("%v, journal %q", err, journal)
	}
	m, err := Open(t.Context(), model, Options{})
	if err != nil {
		t.Fatal(err) // taken back
	}
	m.Close()
}

// TestBombs: what does not begin like a model is not unpacked.
func TestBombs(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("<!DOCTYPE html>"))
	w.Write(make([]byte, 1<<20))
	w.Close()
	path := filepath.Join(t.TempDir(), "m.gguf.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Inspect(t.Context(), path, Options{MaxUnpacked: 2048}) // less than there is
	if e, ok := errors.AsType[*InputError](err); !ok || !strings.Contains(e.Why, "HTML") {
		t.Errorf("%v", err)
	}
}
