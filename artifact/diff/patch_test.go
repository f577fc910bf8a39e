package diff_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/artifact/diff"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// changed makes the first change that is possible of a model, and returns the new file.
func changed(t *testing.T, path string) string {
	out := modelpatch.WriteOptions{Output: filepath.Join(t.TempDir(), filepath.Base(path))}
	ctx, open := context.Background(), modelpatch.OpenOptions{}
	for _, change := range []func() (modelpatch.Result, error){
		func() (modelpatch.Result, error) {
			return modelpatch.Extend(ctx, path, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 96}, Open: open, Write: out})
		},
		func() (modelpatch.Result, error) {
			return modelpatch.Rescale(ctx, path, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Base: 123456}, Open: open, Write: out})
		},
		func() (modelpatch.Result, error) {
			return modelpatch.AddALiBi(ctx, path, modelpatch.ALiBiOptions{ALiBiOptions: position.ALiBiOptions{MaxBias: 8}, Open: open, Write: out})
		},
	} {
		if r, err := change(); err == nil && r.Nothing == "" && len(r.Plan.Edits) > 0 {
			return out.Output
		}
		os.Remove(out.Output)
	}
	return ""
}

// travels writes the patch from a to b, applies it to a and reverts it from b, and compares every byte.
func travels(t *testing.T, a, b string) {
	t.Helper()
	folder := t.TempDir()
	written, err := diff.Patch(t.Context(), a, b, filepath.Join(folder, "p"), diff.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(written) == 0 {
		t.Fatalf("%s: no patch", a)
	}
	patchPath := filepath.FromSlash(written[0].Path)
	for _, way := range []struct {
		run      func(ctx context.Context, patchPath, path string, o modelpatch.PatchOptions) (modelpatch.Result, error)
		from, to string
	}{{modelpatch.Apply, a, b}, {modelpatch.Revert, b, a}} {
		w := modelpatch.WriteOptions{Output: filepath.Join(folder, "made"), Force: true}
		if _, err := way.run(t.Context(), patchPath, way.from, modelpatch.PatchOptions{Write: w}); err != nil {
			t.Fatal(err)
		}
		got, err1 := os.ReadFile(w.Output)
		want, err2 := os.ReadFile(way.to)
		if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d: %v, %v", way.from, len(got), len(want), err1, err2)
		}
	}
}

// TestPatch takes pairs of files before and after a change: of testdata always, of the shared corpus fifty
// where it is there.
func TestPatch(t *testing.T) {
	tests := []struct {
		folder string
		least  int
	}{{models, 8}, {"../../../shared/corpus", 50}}
	for _, test := range tests {
		t.Run(filepath.Base(test.folder), func(t *testing.T) {
			if _, err := os.Stat(test.folder); err != nil {
				t.Skip("the shared corpus is not there")
			}
			var all []string
			for _, pattern := range []string{"gguf/*.gguf", "onnx/*.onnx"} {
				found, err := filepath.Glob(filepath.Join(test.folder, pattern))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, found...)
			}
			step := max(1, len(all)/(2*test.least)) // spread over both formats and all architectures
			pairs := 0
			for i := 0; i < len(all); i += step {
				path := all[i]
				if m, err := modelpatch.Inspect(t.Context(), path, modelpatch.OpenOptions{}); err != nil || len(m.Files) > 0 {
					continue // apply makes files one by one
				}
				if b := changed(t, path); b != "" {
					travels(t, path, b)
					pairs++
				}
			}
			if pairs < test.least {
				t.Errorf("%d pairs, fewer than %d", pairs, test.least)
			}
			t.Logf("%d pairs", pairs)
		})
	}
}

// TestPatchOfOthers takes files that no change of ours made of each other: fresh exports.
func TestPatchOfOthers(t *testing.T) {
	travels(t, filepath.Join(models, "onnx/lengths/llama-17.onnx"), filepath.Join(models, "onnx/lengths/llama-23.onnx"))
	travels(t, filepath.Join(models, "gguf/gpt2-f32.gguf"), filepath.Join(models, "gguf/mpt-alibi.gguf"))
}

// TestPatchOfFew: the edits of a change of three keys are small, and equal files give no patch.
func TestPatchOfFew(t *testing.T) {
	path := filepath.Join(models, "gguf/llama-plain.gguf")
	b := filepath.Join(t.TempDir(), "yarn.gguf")
	if _, err := modelpatch.Rescale(t.Context(), path, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Scaling: "yarn", Factor: 4}, Write: modelpatch.WriteOptions{Output: b}}); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "p.mpatch")
	written, err := diff.Patch(t.Context(), path, b, out, diff.PatchOptions{})
	if err != nil || len(written) != 1 || written[0].Bytes > 8000 || written[0].Path != report.Name(out) {
		t.Errorf("%+v, %v", written, err)
	}
	if _, err := diff.Patch(t.Context(), path, b, out, diff.PatchOptions{}); modelpatch.ExitCode(err) != modelpatch.ExitOutput {
		t.Errorf("replaced a file: %v", err)
	}
	if written, err := diff.Patch(t.Context(), path, path, out+"2", diff.PatchOptions{}); err != nil || len(written) != 0 {
		t.Errorf("%+v, %v", written, err)
	}
	_, err = diff.Patch(t.Context(), filepath.Join(models, "onnx/llama-dy23.onnx"), filepath.Join(models, "onnx/genai-llama-fp32-ext.onnx"), out+"3", diff.PatchOptions{})
	if modelpatch.ExitCode(err) != modelpatch.ExitRefused || !strings.Contains(err.Error(), "2 files") {
		t.Errorf("%v", err)
	}
}
