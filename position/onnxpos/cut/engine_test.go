package cut_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/cut"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/trial"
)

// job is an attention for ONNX Runtime to compute: the part of a file between what enters
// and an output.
type job struct {
	Path   string             `json:"path"`
	Inputs map[string]*tensor `json:"inputs"` // what enters, and the model's own inputs
	Output string             `json:"output"`
	Want   []float64          `json:"want"`
}

type tensor struct {
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

// engineRoundoff is how far an engine that computes in float32 may be off, relative to the
// largest number: some hundred roundings. Quantised steps of states can fall to the other
// side, and float16 is coarser: those files are listed.
const engineRoundoff = 2e-5

// saturating are files whose quantised states end where their calibration did: what is read
// of them is what they mean, and random states are beyond it.
var saturating = []string{"bert-ts17-qdq.onnx"}

// coarse are files whose states are rounded on their way, and how far they may be off.
var coarse = map[string]float64{
	"distilbert-ts17-qdynu.onnx": 3e-2, "gpt2-ts17-qdyn.onnx": 3e-2, "genai-qwen2-fp16cuda.onnx": 2e-2, "marian-enc-ts17-fp16.onnx": 2e-2, "llama-fp16-ts17.onnx": 2e-2,
}

// signed are files of unsigned states and signed weights of eight bits: without instructions that sum their products in 32 bits (VNNI), ONNX
// Runtime sums pairs of them in 16, which may saturate (its docs/performance/model-optimizations/quantization.md, "When and why do I need to try U8U8?").
var signed = []string{"gpt2-ts17-qdyn.onnx"}

// saturates reports whether this machine's products of eight bits do so; false where that cannot be told.
func saturates() bool {
	cpu, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && runtime.GOARCH == "amd64" && !bytes.Contains(cpu, []byte("vnni"))
}

// TestCutsAgainstEngine has ONNX Runtime compute every attention of the corpus from the
// same numbers: the Python that ENGINES_PYTHON names must have onnx and onnxruntime.
func TestCutsAgainstEngine(t *testing.T) {
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" || testing.Short() {
		t.Skip("ENGINES_PYTHON is not set")
	}
	var paths []string
	for _, pattern := range []string{"../../../testdata/onnx/*.onnx", "../../../../shared/corpus/onnx/*.onnx", "../../../../shared/rewrite/onnx/*.onnx"} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, slices.DeleteFunc(found, func(p string) bool { return slices.Contains(saturating, filepath.Base(p)) })...)
	}
	var jobs []job
	for _, path := range paths {
		jobs = append(jobs, jobsOf(t, path)...)
	}
	file := filepath.Join(t.TempDir(), "jobs.json")
	data, err := json.Marshal(jobs)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-W", "ignore", "testdata/engine.py", file).Output()
	if err != nil {
		t.Skipf("%s: %v\n%s", python, err, out)
	}
	var answers []struct {
		Apart float64 `json:"apart"` // relative; −1 where the engine did not run it
		Why   string  `json:"why"`
	}
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	equal, not := 0, 0
	for i, a := range answers {
		name := filepath.Base(jobs[i].Path)
		allowed := engineRoundoff
		if c, ok := coarse[name]; ok {
			allowed = c
		}
		switch {
		case a.Apart < 0:
			not++
			t.Logf("%s, %s: not run by the engine: %.120s", name, jobs[i].Output, a.Why)
		case slices.Contains(signed, name) && saturates():
			not++
			t.Logf("%s, %s: not compared: products of eight bits saturate on this machine (apart by %.2g)", name, jobs[i].Output, a.Apart)
		case a.Apart > allowed || math.IsNaN(a.Apart):
			t.Errorf("%s, %s: apart by %g", name, jobs[i].Output, a.Apart)
		default:
			equal++
		}
	}
	t.Logf("%d attentions equal, %d not run by the engine", equal, not)
	if equal < 9*len(jobs)/10 {
		t.Errorf("only %d of %d attentions were compared", equal, len(jobs))
	}
}

// jobsOf are the attentions of a file.
func jobsOf(t *testing.T, path string) (jobs []job) {
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		return nil
	}
	defer f.Close()
	p := probe.New(f, nil)
	p.Run()
	const positions = 7
	e := p.At(positions)
	if p.IsRecorded() { // so few samples make no frames
		e = p.Eval
	}
	for _, n := range f.Graph.Nodes {
		if _, runs := cut.IsFused(n); n.Op != "Softmax" && !runs {
			continue
		}
		c := cut.Find(p.Eval.Main, n)
		if c == nil {
			continue
		}
		if _, err := c.Run(e, 0, nil); err != nil {
			t.Errorf("%s: %s: %v", path, n.Title(), err)
			continue
		}
		j := job{Path: path, Inputs: map[string]*tensor{}, Output: n.Output(0)}
		if !c.Fused() {
			j.Output = c.Values.Output(0)
		}
		given := map[string]*eval.Value{}
		for i, name := range c.Enters {
			v := e.Main.Value(name)
			content := trial.Normal(uint64(i), v.Shape)
			for _, idle := range c.Idle {
				if idle == name {
					clear(content)
				}
			}
			given[name] = eval.FloatValue(onnx.Double, v.Shape, content)
			j.Inputs[name] = &tensor{v.Shape, content}
		}
		for _, in := range f.Graph.Inputs {
			v := e.Main.Value(in.Name)
			if j.Inputs[in.Name] != nil || !v.Ranked || f.Graph.Initializer(in.Name) != nil {
				continue
			}
			shape := slices.Clone(v.Shape)
			if heads := int(n.Int("kv_num_heads", 0)); len(shape) == 4 && v.Len() == 0 && heads > 0 { // an empty cache, whose last axis no name tells
				shape[3] = e.Main.Value(n.Input(0)).Shape[2] / int(n.Int("num_heads", 1))
				if n.Input(1) == "" {
					shape[3] = e.Main.Value(n.Input(0)).Shape[2] / int(n.Int("num_heads", 1)+2*n.Int("kv_num_heads", 0))
				}
			}
			content := make([]float64, v.Len())
			for i := range content {
				if v.Ints != nil {
					content[i] = float64(v.Ints[i])
				}
			}
			j.Inputs[in.Name] = &tensor{shape, content}
		}
		out := e.Trial(given).Main.Value(j.Output)
		if !out.Known() {
			t.Errorf("%s: %q is not known", path, j.Output)
			continue
		}
		j.Want = out.Floats
		jobs = append(jobs, j)
	}
	return jobs
}
