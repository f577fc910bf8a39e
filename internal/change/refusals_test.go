package change

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

const models = "../../testdata/"

// inFolder copies a model, and what lies beside it under its name, into a new folder.
func inFolder(t *testing.T, name string) string {
	t.Helper()
	folder := t.TempDir()
	for _, end := range []string{"", ".data"} {
		if b, err := os.ReadFile(models + name + end); err == nil {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)+end), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return filepath.Join(folder, filepath.Base(name))
}

// lying is a model that says another length, or has a fault.
type lying struct {
	position.Model
	describe report.Inspect
	findings []report.Finding
}

func (l lying) Describe() report.Inspect   { return l.describe }
func (l lying) Findings() []report.Finding { return l.findings }

// TestExpectations: a new file that states another length, counts less far, or has a fault that the old one
// has not, is none.
func TestExpectations(t *testing.T) {
	m, err := source.Open(t.Context(), models+"gguf/gpt2-f32.gguf", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	stated := func(n int) lying {
		d := m.Describe()
		d.Length.Stated = &n
		return lying{Model: m, describe: d}
	}
	for _, c := range []struct {
		model  position.Model
		length int
		want   string
	}{
		{m, 24, ""}, {m, 0, ""}, {stated(24), 24, ""},
		{stated(25), 24, "states a length of 25, not 24"},
		{stated(48), 48, "counts to 24, not 48"},
	} {
		err := reaches(c.model, c.length)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("length %d: %v, want %q", c.length, err, c.want)
		}
	}
	fault := func(rule string) report.Finding {
		return report.Finding{Rule: rule, Level: report.LevelError, Message: rule}
	}
	old := []report.Finding{fault("gguf-a")}
	for _, c := range []struct {
		now  []report.Finding
		want string
	}{
		{nil, ""}, {old, ""}, {[]report.Finding{{Rule: "gguf-b", Level: report.LevelWarning}}, ""},
		{[]report.Finding{fault("gguf-a"), fault("gguf-b")}, "gguf-b"},
	} {
		err := newFault(lying{Model: m, findings: c.now}, old)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.now, err, c.want)
		}
	}
	c, d := &run{Change: &Change{}}, &decision{}
	for _, s := range m.Sites() {
		d.was = append(d.was, s.Encoding().Scheme)
	}
	for fault, now := range map[bool][]report.Finding{false: nil, true: old} {
		if err := c.check(lying{Model: m, describe: m.Describe(), findings: now}, d); (err != nil) != fault {
			t.Errorf("a new fault: %v, and the check says %v", fault, err)
		}
	}
}

// TestOldData: data of a model that is replaced are told to be left over, but for those that the change reads.
func TestOldData(t *testing.T) {
	model := inFolder(t, "onnx/genai-llama-fp32-ext.onnx")
	data := model + ".data"
	plan := patch.Plan{Inputs: []patch.Input{{Path: model}, {Path: data}}, Outputs: []patch.Output{{}, {Input: 1}}}
	if left := oldData(plan, model, source.Options{}, WriteOptions{Force: true}); len(left) != 0 {
		t.Errorf("%v is read by the change", left)
	}
	plan.Inputs[1].Path = inFolder(t, "onnx/genai-llama-fp32-ext.onnx") + ".data"
	if left := oldData(plan, model, source.Options{}, WriteOptions{Force: true}); !slices.Equal(left, []string{data}) {
		t.Errorf("%v, want %s", left, data)
	}
}

// TestPatchesAreHeld: a patch is for one file, its result is looked at, and a second change in place keeps the
// first one's way back.
func TestPatchesAreHeld(t *testing.T) {
	ctx, model := t.Context(), inFolder(t, "gguf/llama-plain.gguf")
	original, _ := os.ReadFile(model)
	change := func(base float64, w WriteOptions) error {
		_, err := Rescale.Of(position.RescaleOptions{Base: base}).Run(ctx, model, source.Options{}, w)
		return err
	}
	made := filepath.Join(filepath.Dir(model), "made.gguf")
	if err := change(20000, WriteOptions{Output: made, PatchOnly: true}); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(model), "other.gguf")
	damaged := slices.Clone(original)
	damaged[300] ^= 1
	if err := os.WriteFile(other, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(ctx, made+patch.Suffix, other, source.Options{}, WriteOptions{Output: made}); !is[*patch.RefusedError](err) {
		t.Errorf("a patch is applied to another file: %v", err)
	}
	p, err := patch.OpenPatch(made + patch.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r := patchRun{patch: p, path: model}
	if err := r.check(model); !is[*patch.OutputError](err) {
		t.Errorf("the old file passes as the result: %v", err)
	}
	for _, base := range []float64{20000, 30000} {
		if err := change(base, WriteOptions{InPlace: true}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(UndosOf(model)); n != 2 {
		t.Fatalf("%d undo patches, want 2", n)
	}
	for _, want := range []float64{20000, 10000} { // the newest change first
		if _, err := Undo(ctx, model, WriteOptions{InPlace: true}); err != nil {
			t.Fatal(err)
		}
		m, err := source.Open(ctx, model, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if e := position.Inspect(m).Encodings[0]; float64(*e.Parameters.Base) != want {
			t.Errorf("base %g, want %g", *e.Parameters.Base, want)
		}
		m.Close()
	}
	if back, _ := os.ReadFile(model); !slices.Equal(back, original) {
		t.Error("the model is not as it was")
	}
}

// TestPartsFolder: parts of an upload go into a folder that is not there, or is given over by force.
func TestPartsFolder(t *testing.T) {
	model := inFolder(t, "gguf/llama-plain.gguf")
	folder := filepath.Join(filepath.Dir(model), "parts")
	run := func(force bool) error {
		_, err := Rescale.Of(position.RescaleOptions{Base: 20000}).Run(t.Context(), model, source.Options{}, WriteOptions{Output: folder, Parts: true, Force: force})
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil { // somebody's, though nothing is in it
		t.Fatal(err)
	}
	if err := run(false); !is[*patch.OutputError](err) {
		t.Errorf("a folder that is there: %v", err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := run(false); err != nil {
		t.Fatal(err)
	}
	if err := run(true); err != nil {
		t.Errorf("by force: %v", err)
	}
}

// TestHashedFile: a file that is another than the one that was hashed ends a change, though no input of the plan is it.
func TestHashedFile(t *testing.T) {
	model := inFolder(t, "gguf/llama-plain.gguf")
	inputs, err := Digests(t.Context(), model, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := hashed(inputs, patch.Plan{}, nil); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(model, []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hashed(inputs, patch.Plan{}, nil); !is[*patch.InputError](err) {
		t.Errorf("another file passes: %v", err)
	}
}
