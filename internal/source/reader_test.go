package source_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// TestInspectReader: a model that is read from memory, with its shards and data files, has
// the report of the file; without them it is an error, as it is on a disk.
func TestInspectReader(t *testing.T) {
	for _, pattern := range []string{"../../testdata/gguf/*.gguf", "../../testdata/onnx/*.onnx", "../../../shared/corpus/gguf/*.gguf", "../../../shared/corpus/onnx/*.onnx"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			want, err := modelpatch.Inspect(t.Context(), path, modelpatch.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			folder, base := filepath.Split(path)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			got, err := inspectReader(t.Context(), bytes.NewReader(data), int64(len(data)), base, func(name string) (io.ReaderAt, int64, error) {
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
			if _, err := inspectReader(t.Context(), bytes.NewReader(data), int64(len(data)), base, nil); !errors.Is(err, fs.ErrNotExist) && modelpatch.ExitCode(err) != modelpatch.ExitInput {
				t.Errorf("%s without its other files: %v", path, err)
			}
		}
	}
}

// inspectReader opens a model from a reader and says what it has.
func inspectReader(ctx context.Context, r io.ReaderAt, size int64, name string, companions modelpatch.Companions) (report.Inspect, error) {
	m, err := modelpatch.OpenReader(ctx, r, size, name, companions)
	if err != nil {
		return report.Inspect{}, err
	}
	defer m.Close()
	return modelpatch.Describe(m, name)
}

// text is a report as it is printed.
func text(t *testing.T, r report.Inspect) string {
	line, err := report.Line(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}
