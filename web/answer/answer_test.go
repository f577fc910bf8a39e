package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

func inspected(t *testing.T, name string) Inspected {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return Inspect(context.Background(), bytes.NewReader(content), int64(len(content)), filepath.Base(name), func(other string) (io.ReaderAt, int64, error) {
		content, err := os.ReadFile(filepath.Join("../../testdata", filepath.Dir(name), other))
		if err != nil {
			return nil, 0, fs.ErrNotExist
		}
		return bytes.NewReader(content), int64(len(content)), nil
	}, 0)
}

// TestInspect holds the answer against what the tool says of the same file.
func TestInspect(t *testing.T) {
	for _, c := range []struct {
		name     string
		pictures int
	}{{"gguf/gpt2-f32.gguf", 1}, {"gguf/t5-32.gguf", 2}, {"onnx/opt-dy18fix.onnx", 1}, {"gguf/split-gpt2-nofirst-00001-of-00003.gguf", 1}, {"onnx/cases/recurrence-unrolled.onnx", 0}} {
		t.Run(c.name, func(t *testing.T) {
			got := inspected(t, c.name)
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			t.Chdir(filepath.Join("../../testdata", filepath.FromSlash(filepath.Dir(c.name))))
			want, err := modelpatch.Inspect(filepath.Base(c.name), modelpatch.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(got.Report)
			b, _ := json.Marshal(want)
			if !bytes.Equal(a, b) {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
			if len(got.Pictures) != c.pictures || (got.NoPicture == "") != (c.pictures > 0) {
				t.Errorf("%d pictures, %q", len(got.Pictures), got.NoPicture)
			}
			for _, p := range got.Pictures {
				if !strings.HasPrefix(p.SVG, "<svg ") || p.Description == "" || len(p.Tables) == 0 {
					t.Errorf("picture %+v", p.Title)
				}
			}
			if len(got.Names) != len(want.Encodings) || len(got.Parameters) != len(want.Encodings) {
				t.Errorf("%d names and %d lists of parameters for %d encodings", len(got.Names), len(got.Parameters), len(want.Encodings))
			}
			if _, err := report.Line(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInspectFails tells bad files, and readers that fail.
func TestInspectFails(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.gguf", "", "truncated"}, {"a.gguf", "GGUF", "truncated"}, {"a\x1b[31m.onnx", "<html>", `a\x1b[31m.onnx: not a model: an HTML page`}, {"a.onnx", "\x1f\x8b\x08", "gzip"},
	} {
		got := Inspect(context.Background(), strings.NewReader(c.content), int64(len(c.content)), c.name, nil, 0)
		if got.Report != nil || !strings.Contains(got.Error, c.want) {
			t.Errorf("%q: %q, want %q", c.content, got.Error, c.want)
		}
	}
	got := Inspect(context.Background(), broken{}, 1<<40, "a.gguf", nil, 0)
	if !strings.Contains(got.Error, "the server answers 500") {
		t.Errorf("got %q", got.Error)
	}
	got = Inspect(context.Background(), nil, 10, "a.gguf", nil, 0)
	if !strings.Contains(got.Error, "a mistake in modelpatch") {
		t.Errorf("a panic gives %q", got.Error)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) {
	return 0, &modelpatch.InputError{Path: "a.gguf", What: "cannot be read", Why: "the server answers 500"}
}

// TestChange makes patches and models as the library does by itself.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		name    string
		request Request
		want    string // of the change, or of the error
		files   int
	}{
		{"gguf/gpt2-f32.gguf", Request{Verb: "extend", Length: 128, Whole: true}, "24 → 128", 2},
		{"gguf/gpt2-f32.gguf", Request{Verb: "extend", Length: 128}, "24 → 128", 1},
		{"gguf/llama-plain.gguf", Request{Verb: "rope", Scaling: "yarn", Factor: 4, OriginalLength: 32}, "yarn ×4", 1},
		{"gguf/gpt2-f32.gguf", Request{Verb: "rope", Base: 20000}, "refused", 0},
		{"gguf/gpt2-f32.gguf", Request{Verb: "remove"}, "it is extend or rope", 0},
		{"gguf/gpt2-f32.gguf", Request{Verb: "extend", Length: 24}, "", 0},
	} {
		c.request.Path, c.request.Folder = filepath.Join("../../testdata", filepath.FromSlash(c.name)), t.TempDir()
		got := Change(context.Background(), c.request)
		if !strings.Contains(strings.Join(got.Changes, " ")+got.Error, c.want) || len(got.Files) != c.files {
			t.Errorf("%+v: %+v", c.request, got)
		}
		for i, f := range got.Files {
			want := filepath.Join(c.request.Folder, filepath.Base(c.name))
			if i == 0 {
				want += ".mpatch"
			}
			if info, err := os.Stat(f); f != want || err != nil || info.Size() == 0 {
				t.Errorf("file %s, want %s: %v", f, want, err)
			}
		}
		if c.request.Length == 24 && got.Nothing == "" {
			t.Errorf("nothing to do is not told: %+v", got)
		}
	}
}
