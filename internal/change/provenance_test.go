package change_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
)

// TestHashed: a change is made of the files that were hashed for its statement, or is an error: also where another
// of the same size and time has taken their place, and where that happens while the change is made.
func TestHashed(t *testing.T) {
	swap := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(path+".new", content, 0o600), os.Chtimes(path+".new", info.ModTime(), info.ModTime()), os.Rename(path+".new", path))
	}
	for _, c := range []struct{ model, data string }{
		{"gguf/llama-plain.gguf", ""},
		{"onnx/genai-llama-fp32-ext.onnx", ""},
		{"onnx/genai-llama-fp32-ext.onnx", "genai-llama-fp32-ext.onnx.data"},
	} {
		for _, when := range []string{"never", "before", "meanwhile", "in place"} {
			t.Run(c.model+c.data+" "+when, func(t *testing.T) {
				dir := t.TempDir()
				model := filepath.Join(dir, filepath.Base(c.model))
				for _, end := range []string{"", ".data"} {
					if b, err := os.ReadFile("../../testdata/" + c.model + end); err == nil {
						put(t, model+end, string(b))
					}
				}
				victim := model
				if c.data != "" {
					victim = filepath.Join(dir, c.data)
				}
				inputs, err := change.Digests(context.Background(), model, source.Options{})
				if err != nil {
					t.Fatal(err)
				}
				w := change.WriteOptions{Output: filepath.Join(t.TempDir(), "out"+filepath.Ext(model)), Inputs: inputs, Digest: true}
				switch when {
				case "before", "in place":
					if err := swap(victim); err != nil {
						t.Fatal(err)
					}
				case "meanwhile":
					once := sync.OnceFunc(func() {
						if err := swap(victim); err != nil {
							t.Error(err)
						}
					})
					w.Progress = func(int64, int64) { once() }
				}
				if when == "in place" {
					w.Output, w.InPlace = "", true
				}
				before, err := os.ReadFile(model)
				if err != nil {
					t.Fatal(err)
				}
				_, err = change.Extend.Of(position.ExtendOptions{Length: 128, Method: "none"}).Run(context.Background(), model, source.Options{}, w)
				if when == "never" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil || when != "meanwhile" && !strings.Contains(err.Error(), "is another file than the one that was hashed") {
					t.Error(err)
				}
				if _, err := os.Lstat(w.Output); err == nil {
					t.Error("the model was written")
				}
				if after, err := os.ReadFile(model); err != nil || string(after) != string(before) {
					t.Error("the input changed", err)
				}
			})
		}
	}
}

// TestUndoAtOnce: of two runs at once that take changes back one may be refused, and model and configuration stay together.
func TestUndoAtOnce(t *testing.T) {
	for range 20 {
		_, model, config := besideModel(t)
		for _, n := range []int{64, 128} {
			if _, err := modelpatch.Extend(context.Background(), model, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: n, Method: "none"}, Write: modelpatch.WriteOptions{InPlace: true, Sidecars: true}}); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := modelpatch.Undo(context.Background(), model, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{InPlace: true}})
				done <- err
			}()
		}
		first, second := <-done, <-done
		for _, err := range []error{first, second} {
			if err != nil && !strings.Contains(err.Error(), "locked by another process") {
				t.Error(err)
			}
		}
		if first != nil && second != nil {
			t.Error("both were refused")
		}
		r, err := modelpatch.Inspect(t.Context(), model, modelpatch.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stated := sidecar.ReadStated(t.Context(), model, source.Options{}).Lengths
		if len(stated) != 1 || r.Length.Stated == nil || *r.Length.Stated != stated[0].Length {
			text, _ := os.ReadFile(config)
			t.Fatalf("the model states %v, the configuration %s (%v, %v)", *r.Length.Stated, text, first, second)
		}
	}
}
