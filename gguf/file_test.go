package gguf

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared is the folder of the corpus that is kept outside this repository.
func shared(t testing.TB, path string) string {
	t.Helper()
	full := filepath.Join("..", "..", "shared", path)
	if _, err := os.Stat(full); err != nil {
		t.Skipf("%s is absent", full)
	}
	return full
}

func TestOpenCorpus(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared(t, "corpus/gguf"), "*.gguf"))
	for _, path := range files {
		f, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		for name, tensor := range f.index {
			if row := make([]float64, tensor.Width()); tensor.Readable() && tensor.Rows() > 0 {
				if err := f.ReadRows(tensor, tensor.Rows()-1, 1, row); err != nil {
					t.Errorf("%s: %s: %v", filepath.Base(path), name, err)
				}
			}
		}
		f.Close()
	}
}

func TestBadFiles(t *testing.T) {
	folder := shared(t, "badfiles")
	raw, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		File, Kind, Expect, ID string
		Words                  []string `json:"message_must_mention"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Kind != "gguf" || strings.HasPrefix(c.ID, "C") {
			continue
		}
		t.Run(c.File, func(t *testing.T) {
			f, err := Open(filepath.Join(folder, c.File))
			if (err != nil) != (c.Expect == "refuse") {
				t.Fatalf("want %s, got %v", c.Expect, err)
			}
			if err == nil {
				defer f.Close()
				return
			}
			t.Log(err)
			for _, word := range c.Words {
				if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) && c.ID != "A01" {
					t.Errorf("%q is not in %q", word, err)
				}
			}
		})
	}
}

func TestEveryPrefixIsRefused(t *testing.T) {
	whole, err := os.ReadFile("../testdata/gguf/gpt2-f32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	end := f.Parts[0].DataStart
	for _, tensor := range f.index {
		end = max(end, f.Range(tensor)[1])
	}
	step := 1
	for n := 0; n < int(end); n += step {
		if n > int(f.Parts[0].HeaderEnd)+64 {
			step = 997
		}
		if _, err := NewFile(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Fatalf("the first %d of %d bytes are read as a file", n, end)
		} else if !strings.Contains(err.Error(), "truncated") && !strings.Contains(err.Error(), "beyond the file") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func FuzzNewFile(f *testing.F) {
	for _, pattern := range []string{"../testdata/gguf/*.gguf", "../../shared/badfiles/*.gguf"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 32<<10 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			_ = err.Error()
			return
		}
		for i := range file.Parts[0].Pairs {
			p := &file.Parts[0].Pairs[i]
			file.String(p.Key)
			file.Numbers(p.Key)
			p.Uint()
			p.Float()
		}
		for _, tensor := range file.index {
			if tensor.Size < 0 || file.Range(tensor)[1] > int64(len(b)) && tensor.Size > 0 {
				t.Fatalf("tensor %q lies outside the file: %v", tensor.Name, file.Range(tensor))
			}
			if tensor.Rows() > 0 && tensor.Width() > 0 && tensor.Width() < 1<<16 && tensor.Readable() {
				if err := file.ReadRows(tensor, 0, 1, make([]float64, tensor.Width())); err != nil {
					t.Fatal(err)
				}
			}
		}
		e := file.Edit()
		e.Set("a.new.key", Uint32(7), "test")
		e.Set("general.architecture", String("longer than it was before"), "test")
		plan, err := e.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Edits) == 0 {
			t.Fatal("no edits")
		}
	})
}

// TestDamageHasAHint: an error of bytes says what to do about them, as one of a path does not need to.
func TestDamageHasAHint(t *testing.T) {
	whole, err := os.ReadFile("../testdata/gguf/llama-plain.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{20, 100, len(whole) / 2} {
		_, err := NewFile(bytes.NewReader(whole[:n]), int64(n))
		damage, ok := errors.AsType[*FormatError](err)
		if !ok || len(damage.Hints()) != 1 {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
