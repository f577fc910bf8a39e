package onnx

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestCorpusOpens opens every file of the shared corpus: real exporters write
// nothing that the index refuses.
func TestCorpusOpens(t *testing.T) {
	files, _ := filepath.Glob("../../shared/corpus/onnx/*.onnx")
	if len(files) == 0 {
		t.Skip("../shared/corpus is not there")
	}
	for _, path := range files {
		f, err := Open(path, Options{})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		if err := f.CheckData(); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
		f.Close()
	}
}

// TestBadFiles opens the malformed files: what must be refused is, what must
// be read is.
func TestBadFiles(t *testing.T) {
	data, err := os.ReadFile("../../shared/badfiles/manifest.json")
	if err != nil {
		t.Skip("../shared/badfiles is not there")
	}
	var cases []struct {
		File string
		Cmd  string
		Exit int
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if filepath.Ext(c.File) != ".onnx" || c.Cmd == "" {
			continue
		}
		f, err := Open("../../shared/badfiles/"+c.File, Options{})
		if err == nil {
			err = f.CheckData()
		}
		if refused := err != nil; refused != (c.Exit == 3) {
			t.Errorf("%s: error %v, exit code %d wanted", c.File, err, c.Exit)
		}
	}
}
