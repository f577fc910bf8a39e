package modelpatch

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// TestInspectReader: a model that is read from memory, with its shards and data files, has
// the report of the file; without them it is an error, as it is on a disk.
func TestInspectReader(t *testing.T) {
	for _, pattern := range []string{"testdata/gguf/*.gguf", "testdata/onnx/*.onnx", "../shared/corpus/gguf/*.gguf", "../shared/corpus/onnx/*.onnx"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			want, err := Inspect(path, OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			folder, base := filepath.Split(path)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			got, err := InspectReader(t.Context(), bytes.NewReader(data), int64(len(data)), base, func(name string) (io.ReaderAt, int64, error) {
				asked++
				b, err := os.ReadFile(filepath.Join(folder, name))
				return bytes.NewReader(b), int64(len(b)), err
			})
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if text(t, got) != strings.ReplaceAll(text(t, want), folder, "") {
				t.Errorf("%s: another report:\n%s\n%s", path, text(t, got), text(t, want))
			}
			if asked == 0 {
				continue
			}
			if _, err := InspectReader(t.Context(), bytes.NewReader(data), int64(len(data)), base, nil); !errors.Is(err, fs.ErrNotExist) && ExitCode(err) != ExitInput {
				t.Errorf("%s without its other files: %v", path, err)
			}
		}
	}
}

// text is a report as it is printed.
func text(t *testing.T, r report.Inspect) string {
	line, err := report.Line(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}
