package source_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/modelpatch/modelpatch"
)

// pack writes a test model in compressed form, changed by edit.
func pack(t *testing.T, name string, edit func([]byte) []byte) string {
	t.Helper()
	model, err := os.ReadFile("../../testdata/gguf/llama-plain.gguf")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if strings.HasSuffix(name, ".gz") {
		w := gzip.NewWriter(&b)
		w.Write(model)
		w.Close()
	} else {
		w, _ := zstd.NewWriter(&b)
		w.Write(model)
		w.Close()
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, edit(b.Bytes()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInspectCompressed(t *testing.T) {
	keep := func(b []byte) []byte { return b }
	for _, c := range []struct {
		name string
		edit func([]byte) []byte
		o    modelpatch.OpenOptions
		want string // part of the error; "": it is read
	}{
		{"model.gguf.zst", keep, modelpatch.OpenOptions{}, ""},
		{"model.gguf.gz", keep, modelpatch.OpenOptions{}, ""},
		{"cut.gguf.zst", func(b []byte) []byte { return b[:len(b)/2] }, modelpatch.OpenOptions{}, "truncated"},
		{"cut.gguf.gz", func(b []byte) []byte { return b[:len(b)/2] }, modelpatch.OpenOptions{}, "truncated"},
		{"sum.gguf.zst", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, modelpatch.OpenOptions{}, "checksum"},
		{"sum.gguf.gz", func(b []byte) []byte { b[len(b)-5] ^= 1; return b }, modelpatch.OpenOptions{}, "checksum"},
		{"large.gguf.zst", keep, modelpatch.OpenOptions{MaxUnpacked: 1000}, "more than 1000 bytes"},
	} {
		path := pack(t, c.name, c.edit)
		r, err := modelpatch.Inspect(t.Context(), path, c.o)
		switch {
		case c.want == "" && (err != nil || len(r.Encodings) != 1 || r.Path != path):
			t.Errorf("%s: %v, %d encodings of %q", c.name, err, len(r.Encodings), r.Path)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || modelpatch.ExitCode(err) != modelpatch.ExitInput):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
