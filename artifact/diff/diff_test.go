package diff_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/artifact/diff"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

const models = "../../testdata"

// files compares two files of testdata, or of elsewhere.
func files(t *testing.T, a, b string) report.Diff {
	t.Helper()
	d, err := diff.Files(t.Context(), a, b, modelpatch.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFreshExports compares exports of one model for 17 and 23 tokens: what differs follows the
// length, and nothing else is told.
func TestFreshExports(t *testing.T) {
	tests := []struct {
		name, summary   string
		encodings, keys int
		tensors         map[string]string // name: change
	}{
		{"bert", "stated length 17 → 23; 8 of 94 parts differ; all other weights byte-identical", 0, 0, map[string]string{
			"/model/embeddings/Constant_output_0":                       "resized",
			"/model/embeddings/Constant_5_output_0":                     "bytes",
			"/model/encoder/layer.0/attention/self/Constant_output_0":   "bytes",
			"/model/encoder/layer.0/attention/self/Constant_1_output_0": "bytes",
			"/model/encoder/layer.0/attention/self/Constant_2_output_0": "bytes",
			"/model/encoder/layer.0/attention/self/Constant_4_output_0": "bytes",
		}},
		{"llama", "RoPE 17 → 23 positions; stated length 17 → 23; 72 of 178 parts differ, 65 of them types stated of inner values; all other weights byte-identical", 1, 0, map[string]string{
			"where": "resized", "val_114": "bytes", "unsqueeze_14": "resized", "unsqueeze_15": "resized", "val_178": "bytes",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := files(t, filepath.Join(models, "onnx/lengths", test.name+"-17.onnx"), filepath.Join(models, "onnx/lengths", test.name+"-23.onnx"))
			if d.Summary != test.summary {
				t.Errorf("the summary is\n%s\nwant\n%s", d.Summary, test.summary)
			}
			if d.Same || d.Length == nil || *d.Length.From.Stated != 17 || *d.Length.To.Stated != 23 {
				t.Errorf("same %v, length %+v", d.Same, d.Length)
			}
			if len(d.Encodings) != test.encodings || len(d.Keys) != 0 || len(d.Nodes) != 0 {
				t.Errorf("%d encodings, %d keys and %d nodes", len(d.Encodings), len(d.Keys), len(d.Nodes))
			}
			got := map[string]string{}
			for _, x := range d.Tensors {
				got[x.Name] = x.Change
			}
			for name, change := range test.tensors {
				if got[name] != change {
					t.Errorf("tensor %s: %q, want %q", name, got[name], change)
				}
				delete(got, name)
			}
			for name, change := range got {
				t.Errorf("tensor %s is told: %s", name, change)
			}
			for _, x := range d.Declared {
				if x.What != "input" && x.What != "output" && x.What != diff.InnerType {
					t.Errorf("%s %s is told: %s", x.What, x.Name, x.Change)
				}
			}
		})
	}
}

// TestChanges makes changes and reads what diff says of them, forth and back.
func TestChanges(t *testing.T) {
	out := func(t *testing.T, name string) modelpatch.WriteOptions {
		return modelpatch.WriteOptions{Output: filepath.Join(t.TempDir(), name)}
	}
	tests := []struct {
		name, file  string
		change      func(path string, w modelpatch.WriteOptions) error
		forth, back string
	}{
		{"yarn", "gguf/llama-plain.gguf", func(path string, w modelpatch.WriteOptions) error {
			_, err := modelpatch.Rescale(context.Background(), path, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Scaling: "yarn", Factor: 4}, Write: w})
			return err
		}, "RoPE scaling none → yarn ×4 from 32; 3 of 51 parts differ; all tensors byte-identical",
			"RoPE scaling yarn ×4 from 32 → none; 3 of 51 parts differ; all tensors byte-identical"},
		{"base", "gguf/llama-plain.gguf", func(path string, w modelpatch.WriteOptions) error {
			_, err := modelpatch.Rescale(context.Background(), path, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Base: 500000}, Write: w})
			return err
		}, "RoPE base 10000 → 500000; 1 of 48 parts differ; all tensors byte-identical", "RoPE base 500000 → 10000; 1 of 48 parts differ; all tensors byte-identical"},
		{"table", "onnx/gpt2-dy23.onnx", func(path string, w modelpatch.WriteOptions) error {
			_, err := modelpatch.Extend(context.Background(), path, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 64}, Write: w})
			return err
		}, "position table 48 → 64 positions; 2 of 309 parts differ, 1 of them types stated of inner values; all other weights byte-identical",
			"position table 64 → 48 positions; 2 of 309 parts differ, 1 of them types stated of inner values; all other weights byte-identical"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, w := filepath.Join(models, test.file), out(t, filepath.Base(test.file))
			if err := test.change(a, w); err != nil {
				t.Fatal(err)
			}
			if d := files(t, a, w.Output); d.Summary != test.forth {
				t.Errorf("forth:\n%s\nwant\n%s", d.Summary, test.forth)
			}
			if d := files(t, w.Output, a); d.Summary != test.back {
				t.Errorf("back:\n%s\nwant\n%s", d.Summary, test.back)
			}
		})
	}
}

// TestSame compares files with themselves and with copies.
func TestSame(t *testing.T) {
	for _, name := range []string{"gguf/llama-plain.gguf", "gguf/split-gpt2-nofirst-00001-of-00003.gguf", "onnx/llama-dy23.onnx", "onnx/genai-llama-fp32-ext.onnx"} {
		path := filepath.Join(models, name)
		d := files(t, path, path)
		if !d.Same || !d.Identical || d.Differ != 0 || d.Parts == 0 || d.Summary != "the files are identical" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestOneByte changes single bytes of tensor data: the tensor, the number of bytes and the place are told.
func TestOneByte(t *testing.T) {
	path := filepath.Join(models, "gguf/llama-plain.gguf")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-40] ^= 1 // in the last tensor
	content[len(content)-20] ^= 1
	other := filepath.Join(t.TempDir(), "other.gguf")
	if err := os.WriteFile(other, content, 0o600); err != nil {
		t.Fatal(err)
	}
	d := files(t, path, other)
	if len(d.Tensors) != 1 || d.Differ != 1 {
		t.Fatalf("%+v", d)
	}
	if x := d.Tensors[0]; x.Change != report.DiffBytes || x.Bytes != 2 || x.Count != 2 || len(x.At) != 2 || x.At[1][0]-x.At[0][0] != 20 || x.At[0][1] != x.At[0][0]+1 {
		t.Errorf("%+v", x)
	}
	if !strings.Contains(d.Summary, "; 1 of 21 weights differ") {
		t.Error(d.Summary)
	}
}

// TestSymmetry: whatever two files of testdata are compared, what is added on the way there is removed on
// the way back.
func TestSymmetry(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(models, "onnx", "*.onnx"))
	if err != nil || len(all) < 5 {
		t.Fatal(all, err)
	}
	names := func(d report.Diff, change string) (out []string) {
		for _, x := range d.Tensors {
			if x.Change == change {
				out = append(out, x.Name)
			}
		}
		slices.Sort(out)
		return out
	}
	for i := range len(all) - 1 {
		forth, back := files(t, all[i], all[i+1]), files(t, all[i+1], all[i])
		if forth.Same || forth.Differ > forth.Parts {
			t.Errorf("%s and %s: %s", all[i], all[i+1], forth.Summary)
		}
		if len(names(forth, report.DiffAdded)) != len(names(back, report.DiffRemoved)) {
			t.Errorf("%s and %s: added %v, removed %v", all[i], all[i+1], names(forth, report.DiffAdded), names(back, report.DiffRemoved))
		}
	}
}

// TestTwoFormats: encodings and lengths of an ONNX and a GGUF model are compared, and what is not is said.
func TestTwoFormats(t *testing.T) {
	d := files(t, filepath.Join(models, "gguf/gpt2-f32.gguf"), filepath.Join(models, "onnx/gpt2-dy23.onnx"))
	if d.Same || d.Parts != 0 || len(d.Encodings) != 1 || d.Encodings[0].Change != report.DiffChanged || !strings.Contains(d.Summary, "24 → 48 positions") ||
		!strings.HasSuffix(d.Summary, "; GGUF against ONNX: tensors, keys and nodes are not compared") {
		t.Errorf("%+v", d)
	}
}

// TestNoModel: the null device is no model, as git's difftool has it.
func TestNoModel(t *testing.T) {
	model := filepath.Join(models, "gguf/llama-plain.gguf")
	for _, c := range []struct{ a, b, change, summary string }{
		{"/dev/null", model, report.DiffAdded, "RoPE added; the model is new, with all its 48 parts"},
		{model, "/dev/null", report.DiffRemoved, "RoPE removed; the model is gone, with all its 48 parts"},
	} {
		d := files(t, c.a, c.b)
		if d.Same || d.Differ != 48 || len(d.Encodings) != 1 || d.Encodings[0].Change != c.change || d.Summary != c.summary {
			t.Errorf("%+v", d)
		}
	}
	if _, err := diff.Files(t.Context(), "/dev/null", "/dev/null", modelpatch.OpenOptions{}); modelpatch.ExitCode(err) != modelpatch.ExitUsage {
		t.Error(err)
	}
}
