package verify_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// fault is a mistake that is planted into a copied or changed file.
type fault struct {
	name   string
	model  string
	verb   verb // nil: a copy
	plant  func(t *testing.T, path string)
	expect string // Options.Expect; "": from the verb's plan
	noPlan bool
	// The check that must fail, and the place that it must name.
	check    string
	part     string // a tensor, key or node
	position int    // −1: none
	why      string
}

var faults = []fault{
	{name: "a weight's bit in ONNX", model: "onnx/gpt2-dy23.onnx", plant: flip("tensor", "transformer.h.1.mlp.c_fc.weight", 0x40), check: "bytes", part: "transformer.h.1.mlp.c_fc.weight", position: -1},
	{name: "a weight's bit beside a longer table", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), plant: flip("tensor", "transformer.h.1.mlp.c_fc.weight", 0x01), check: "bytes", part: "transformer.h.1.mlp.c_fc.weight", position: -1},
	{name: "a weight's bit in data of its own", model: "onnx/genai-llama-fp32-ext.onnx", verb: doubled(position.ExtendOptions{}), plant: flipExternal, check: "bytes", part: "model.embed_tokens.weight", position: -1},
	{name: "a weight's bit in GGUF", model: "gguf/llama-plain.gguf", plant: flip("tensor", "blk.0.ffn_up.weight", 0x10), check: "bytes", part: "blk.0.ffn_up.weight", position: -1},
	{name: "an old row of a longer learned table", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), plant: setRow(3, 5, 0.5), check: "table", part: "transformer.wpe.weight", position: 3, why: "a row that both tables have differs"},
	{name: "an old row after an offset", model: "onnx/opt-dy18fix.onnx", verb: doubled(position.ExtendOptions{}), plant: setRow(2+7, 0, 0.5), check: "table", part: "model.decoder.embed_positions.weight", position: 7},
	{name: "an old row of a copy", model: "onnx/gpt2-dy23.onnx", plant: setRow(30, 5, 0.5), check: "table", part: "transformer.wpe.weight", position: 30, why: "a row that both tables have differs"},
	// Without a plan: nothing but formulas and new rows behind old ones explains a difference.
	{name: "rows zeroed without a plan", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), noPlan: true, plant: setRows(0, 20, func(float64) float64 { return 0 }), check: "structure", part: "transformer.wpe.weight", position: -1, why: "an encoding is gone: position table"},
	{name: "a huge number without a plan", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), noPlan: true, plant: setRow(4, 5, 1e30), check: "table", part: "transformer.wpe.weight", position: 4},
	{name: "a number lost without a plan", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), noPlan: true, plant: setRow(4, 5, 0), check: "table", part: "transformer.wpe.weight", position: 4},
	{name: "the last bit of a number without a plan", model: "gguf/bert-learned.gguf", verb: doubled(position.ExtendOptions{}), noPlan: true, plant: flipFirst("position_embd.weight"), check: "bytes", part: "position_embd.weight", position: -1, why: "from its byte 0 on"},
	{name: "rows exchanged without a plan", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), noPlan: true, plant: swapRows(3, 9), check: "table", part: "transformer.wpe.weight", position: -2},
	{name: "one frequency without a plan", model: "onnx/llama-dy23.onnx", noPlan: true, plant: setTensor("model.rotary_emb.inv_freq", 2, 1.0001), check: "bytes", position: -1, part: "inv_freq", why: "has other numbers"},
	{name: "a bias without a plan", model: "onnx/tutorial-dy18.onnx", verb: biased(position.ALiBiOptions{}), noPlan: true, plant: nothing, check: "structure", position: -1, why: "an encoding was added: ALiBi"},
	{name: "a table disabled without a plan", model: "gguf/mpt-learned.gguf", verb: biased(position.ALiBiOptions{Replace: true}), noPlan: true, plant: nothing, check: "table", position: -2},
	{name: "a base that no engine reads", model: "gguf/llama-plain.gguf", plant: setKey("llama.rope.freq_base", gguf.String("10000")), check: "properties", position: -1, part: "llama.rope.freq_base"},
	{name: "a key that acts outside of the rotation", model: "gguf/llama-plain.gguf", plant: setKey("llama.rope.scaling.yarn_log_multiplier", gguf.Float32(0.1)), check: "bytes", position: -1, part: "yarn_log_multiplier", why: "is new"},
	{name: "a new row of a sinusoid", model: "onnx/tutorial-dy18.onnx", verb: doubled(position.ExtendOptions{}), plant: setRow(71, 3, 0.25), check: "table", position: 71, why: "not the formula's"},
	{name: "another base of sinusoids without a plan", model: "onnx/tutorial-dy18.onnx", plant: setWave(func(s *schemes.Sinusoid) { s.Base = 20000 }), check: "table", position: -2, why: "a row that both tables have differs"},
	{name: "another amplitude of sinusoids without a plan", model: "onnx/tutorial-dy18.onnx", plant: setWave(func(s *schemes.Sinusoid) { s.Amplitude = 2 }), check: "table", position: -2, why: "a row that both tables have differs"},
	{name: "cosines before sines without a plan", model: "onnx/tutorial-dy18.onnx", plant: setWave(func(s *schemes.Sinusoid) { s.Layout = schemes.LayoutCosSin }), check: "table", position: -2, why: "a row that both tables have differs"},
	{name: "sinusoids from another position on without a plan", model: "onnx/tutorial-dy18.onnx", plant: setWave(func(s *schemes.Sinusoid) { s.Start = 5 }), check: "table", position: -2, why: "a row that both tables have differs"},
	{name: "other sections of M-RoPE without a plan", model: "../../shared/corpus/gguf/qwen2vl-mrope.gguf", plant: setKey("qwen2vl.rope.dimension_sections", gguf.Int32s(1, 4, 3, 0)), check: "bytes", part: "qwen2vl.rope.dimension_sections", position: -1},
	{name: "NaN in a new learned row", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), plant: setRow(77, 2, math.NaN()), check: "table", part: "transformer.wpe.weight", position: 77, why: "not finite"},
	{name: "NaN in an old row", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), plant: setRow(7, 2, math.NaN()), check: "table", part: "transformer.wpe.weight", position: 7},
	{name: "a new row of a cache", model: "onnx/hand-msrope-partial.onnx", verb: doubled(position.ExtendOptions{Length: 500}), plant: setRow(67, 1, 0.3), check: "table", position: 67, why: "the numbers are not those"},
	{name: "a new row of a long cache", model: "onnx/hand-msrope-partial.onnx", verb: func(m position.Model) (position.Outcome, error) {
		return position.Extend(m, position.ExtendOptions{Length: 1000})
	}, plant: setRow(777, 1, 0.3), check: "table", position: 777, why: "the numbers are not those"},
	{name: "an old row of a cache", model: "onnx/hand-msrope-partial.onnx", verb: doubled(position.ExtendOptions{}), plant: setRow(11, 1, 0.3), check: "table", position: 11},
	{name: "one frequency", model: "onnx/llama-dy23.onnx", plant: setTensor("model.rotary_emb.inv_freq", 3, 1.05), check: "table", position: -1, why: "frequencies that no formula explains"},
	{name: "one frequency of YaRN", model: "onnx/llama-dy23.onnx", verb: rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 4096}), plant: setTensor("model.rotary_emb.inv_freq", 6, 1.3), check: "table", position: -2, why: "not those of RoPE base 10000, rotary dim 16, half, yarn"},
	{name: "another base than planned", model: "onnx/llama-dy23.onnx", verb: rescaled(position.RescaleOptions{Base: 300000}), plant: rebase(40000), check: "table", position: -2, why: "base 300000"},
	{name: "another base where nothing was planned", model: "onnx/llama-dy23.onnx", verb: rescaled(position.RescaleOptions{Base: 300000}), noPlan: true, expect: report.ExpectSameOnPrefix, plant: nothing, check: "table", position: -2},
	{name: "the planned change is not there", model: "onnx/llama-dy23.onnx", verb: rescaled(position.RescaleOptions{Base: 300000}), plant: rebase(10000), check: "table", position: -2, why: "base 300000"},
	{name: "a copy in place of a change", model: "onnx/llama-dy23.onnx", plant: nothing, expect: report.ExpectChanged, check: "properties", position: -1, why: "the planned change is not there"},
	{name: "a longer table in place of a change", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), noPlan: true, expect: report.ExpectChanged, plant: nothing, check: "properties", position: -1, why: "the planned change is not there"},
	{name: "a node's attribute", model: "onnx/gpt2-dy23.onnx", plant: editing(func(e *onnx.Editor, n *onnx.Node) bool {
		if n.Op == "LayerNormalization" {
			e.SetFloat(n, "epsilon", 1e-3, "fault")
		}
		return n.Op == "LayerNormalization"
	}), check: "bytes", position: -1, part: "LayerNormalization", why: "was "},
	{name: "a node's input", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), plant: editing(func(e *onnx.Editor, n *onnx.Node) bool {
		if n.Op == "Softmax" || n.Op == "LayerNormalization" {
			e.RenameInput(n, 0, e.File().Graph.Nodes[0].Output(0), "fault")
			return true
		}
		return false
	}), check: "bytes", position: -1},
	{name: "the input of a Softmax", model: "onnx/tutorial-dy18.onnx", plant: editing(func(e *onnx.Editor, n *onnx.Node) bool {
		if n.Op == "Softmax" {
			before := e.File().Graph.Nodes
			for _, m := range before {
				if m.Output(0) == n.Input(0) { // the mask or the scaling is left out
					e.RenameInput(n, 0, m.Input(0), "fault")
				}
			}
		}
		return n.Op == "Softmax"
	}), check: "bytes", position: -1, part: "Softmax"},
	{name: "a tensor under another name", model: "onnx/gpt2-dy23.onnx", plant: rename("B\x19transformer.h.0.ln_1.bias", "B\x19transformer.h.0.ln_1.bios"), check: "bytes", position: -1, why: "is gone"},
	{name: "a tensor's name in GGUF", model: "gguf/llama-plain.gguf", plant: rename("blk.0.attn_norm.weight", "blk.0.attn_nerm.weight"), check: "bytes", position: -1, why: "is gone"},
	{name: "the operator set", model: "onnx/gpt2-dy23.onnx", plant: opset, check: "bytes", position: -1, why: "properties of the model"},
	{name: "a shape constant", model: "onnx/gpt2-dy23.onnx", plant: editingTensor(func(x *onnx.Tensor) bool { return x.Type == onnx.Int64 && x.Len() > 0 }, 1), check: "bytes", position: -1},
	{name: "a shape constant beside a longer table", model: "onnx/gpt2-dy23.onnx", verb: doubled(position.ExtendOptions{}), plant: editingTensor(func(x *onnx.Tensor) bool { return x.Type == onnx.Int64 && x.Len() > 0 }, 1), check: "bytes", position: -1},
	{name: "a wider window than planned", model: "onnx/llama-dy23.onnx", verb: windowed(16, 0), plant: setTensor("modelpatch/window_begin", 0, 1.5), check: "attention", position: -2, why: "was to see a window of 16 positions"},
	{name: "a narrower window than planned", model: "onnx/llama-dy23.onnx", verb: windowed(16, 0), plant: setTensor("modelpatch/window_begin", 0, 0.5), check: "attention", position: -2, why: "masked in one file alone"},
	{name: "more first positions than planned", model: "onnx/llama-dy23.onnx", verb: windowed(16, 2), plant: setTensor("modelpatch/window_sinks", 0, 2), check: "attention", position: -2, why: "and the first 4"},
	{name: "a window that hides nothing", model: "onnx/gpt2-dy23.onnx", verb: windowed(16, 0), plant: setTensor("modelpatch/window_hidden", 0, 0), check: "attention", position: -2, why: "which was to be hidden"},
	{name: "a wider window on both sides", model: "onnx/bert-ts17-ortbert.onnx", verb: windowed(6, 0), plant: setTensor("modelpatch/window_end", 0, 2), check: "attention", position: -2, why: "was to see a window of 6 positions"},
	{name: "another window of a fused attention", model: "onnx/genai-llama-fp32-ext.onnx", verb: windowed(6, 0), plant: editing(func(e *onnx.Editor, n *onnx.Node) bool {
		if n.Op == "GroupQueryAttention" {
			e.SetInt(n, "local_window_size", 7, "fault")
		}
		return n.Op == "GroupQueryAttention"
	}), check: "attention", position: -2, why: "sees a window of 7"},
	{name: "a slope of an added bias", model: "onnx/tutorial-dy18.onnx", verb: biased(position.ALiBiOptions{}), plant: setTensor("modelpatch/alibi_slopes", 1, 1.5), check: "table", position: -1, why: "slopes"},
	{name: "a slope of an added bias whose slopes were given", model: "onnx/tutorial-dy18.onnx", verb: biased(position.ALiBiOptions{Slopes: []float64{0.5, 0.125}}), plant: setTensor("modelpatch/alibi_slopes", 1, 0.25), check: "table", position: -1, why: "slopes"},
	{name: "all slopes of an added bias", model: "onnx/tutorial-dy18.onnx", verb: biased(position.ALiBiOptions{}), plant: func(t *testing.T, path string) {
		setTensor("modelpatch/alibi_slopes", 0, 2)(t, path)
		setTensor("modelpatch/alibi_slopes", 1, 2)(t, path)
	}, check: "table", position: -1, why: "slopes"},
	{name: "the sign of an added bias", model: "onnx/tutorial-dy18.onnx", verb: biased(position.ALiBiOptions{}), plant: func(t *testing.T, path string) {
		replaceLast(t, path, "modelpatch/Add\"\x03Add", "modelpatch/Add\"\x03Sub")
	}, check: "table", position: -1, why: "does not act in the attention of layer"},
	{name: "a mask's truth value", model: "../../shared/corpus/onnx/gptneo-ts17.onnx", plant: mask, check: "bytes", position: -1},
	{name: "a longer mask's new truth value", model: "../../shared/corpus/onnx/gptneo-ts17.onnx", verb: doubled(position.ExtendOptions{}), plant: mask, check: "bytes", position: -1},
	{name: "a key of the tokenizer", model: "gguf/llama-plain.gguf", plant: flip("key", "tokenizer.ggml.tokens", 0x01), check: "bytes", part: "tokenizer.ggml.tokens", position: -1},
	{name: "the name beside a stated length", model: "gguf/llama-plain.gguf", verb: doubled(position.ExtendOptions{Method: "none"}), plant: flip("key", "general.name", 0x01), check: "bytes", part: "general.name", position: -1},
	{name: "another architecture's length", model: "gguf/llama-plain.gguf", plant: setKey("bert.context_length", gguf.Uint32(9)), check: "bytes", part: "bert.context_length", position: -1, why: "is new"},
	{name: "RoPE's base in GGUF where the same was planned", model: "gguf/llama-plain.gguf", verb: doubled(position.ExtendOptions{Method: "none"}), plant: setKey("llama.rope.freq_base", gguf.Float32(12345)), check: "table", position: -2},
	{name: "RoPE's factor in GGUF", model: "gguf/llama-plain.gguf", verb: rescaled(position.RescaleOptions{Scaling: "linear", Factor: 2}), plant: setKey("llama.rope.scaling.factor", gguf.Float32(3)), check: "table", position: -2, why: "linear ×2"},
	{name: "an old row in GGUF", model: "gguf/bert-learned.gguf", verb: doubled(position.ExtendOptions{}), plant: flip("tensor", "position_embd.weight", 0x20), check: "table", part: "position_embd.weight", position: 0},
	{name: "the architecture", model: "gguf/llama-plain.gguf", plant: func(t *testing.T, path string) { replaceBytes(t, path, "llama", "qwen2") }, check: "structure", position: -1},
	{name: "a bucket's bias", model: "gguf/t5-32.gguf", plant: flip("tensor", "enc.blk.0.attn_rel_b.weight", 0x20), check: "table", position: -2, noPlan: true, expect: report.ExpectSame},
}

// TestPlantedFaults finds every fault, by the right check and at its place.
func TestPlantedFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { planted(t, f) })
	}
}

func planted(t *testing.T, f fault) {
	source := filepath.Join(own, f.model)
	if _, err := os.Stat(source); err != nil && strings.HasPrefix(f.model, "..") {
		t.Skip("../shared/corpus is not there")
	} else if err != nil {
		t.Fatal(err)
	}
	var target string
	options := verify.Options{Expect: f.expect}
	if f.verb == nil {
		target = filepath.Join(t.TempDir(), filepath.Base(source))
		copyFile(t, source, target)
	} else {
		var plan *report.Plan
		if target, plan = changed(t, source, f.verb); target == "" {
			t.Fatal("the change was refused")
		}
		if !f.noPlan {
			options.Plan = plan
		}
		sound := f.plant == nil
		if v := verify.Compare(open(t, source), open(t, target), verify.Options{Plan: plan}); v.Verdict == report.VerdictDifferent || sound {
			t.Fatalf("%s before the fault: %s", v.Verdict, failure(v))
		}
	}
	if f.verb != nil {
		honest := filepath.Join(t.TempDir(), filepath.Base(target))
		copyFile(t, target, honest)
		options.Again, options.Command = open(t, honest), "the change"
	}
	f.plant(t, target)
	v := verify.Compare(open(t, source), open(t, target), options)
	if v.Verdict != report.VerdictDifferent {
		t.Fatalf("verdict %s: the fault went unseen", v.Verdict)
	}
	for _, k := range v.Checks {
		if k.Verdict != report.CheckFail || k.Name != f.check {
			continue
		}
		place := ""
		at := -1
		if k.At != nil {
			if w := k.At.Where; w != nil {
				place = w.Tensor + w.Key + w.Node
			}
			if k.At.Position != nil {
				at = *k.At.Position
			}
		}
		if strings.Contains(k.Why, f.why) && strings.Contains(place, f.part) && (f.position == at || f.position == -2 || f.position == -1 && at <= 0) {
			return
		}
		t.Logf("%s at %q, position %d: %s", k.Name, place, at, k.Why)
	}
	t.Errorf("%s; no check %q named %q, position %d, %q", failure(v), f.check, f.part, f.position, f.why)
}

func nothing(*testing.T, string) {}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(from + ".data"); err == nil {
		if err := os.WriteFile(to+".data", data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// flip changes a bit in the middle of a part's content; of a key's in its end.
func flip(kind, name string, mask byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		m := open(t, path)
		parts, err := m.(position.Parted).Parts()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if p.Kind == kind && p.Name == name {
				at := p.Where.Range[0] + 2 // in a row's first element: of a float, its upper bits
				if kind == "key" {
					at = p.Where.Range[1] - 1
				}
				flipAt(t, path, at, mask)
				return
			}
		}
		t.Fatalf("no %s %s", kind, name)
	}
}

func flipAt(t *testing.T, path string, at int64, mask byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		b[at] ^= mask
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flipExternal(t *testing.T, path string) {
	f := openONNX(t, path)
	for _, x := range f.Graph.Initializers {
		if x.External() && strings.Contains(x.Name, "embed_tokens") {
			flipAt(t, filepath.Join(filepath.Dir(path), x.DataFile()), x.Range()[0]+5, 1)
			return
		}
	}
	t.Fatal("no external embedding")
}

func openONNX(t *testing.T, path string) *onnx.File {
	t.Helper()
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// saved writes an editor's result over the file.
func saved(t *testing.T, e *onnx.Editor, path string) {
	t.Helper()
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, p, path)
}

func overwrite(t *testing.T, p patch.Plan, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.NewReader(0, bytes.NewReader(b)))
	if err == nil {
		err = os.WriteFile(path, out, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// setRow changes a column of a row of the first table that an encoding owns.
func setRow(row, column int, v float64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		name := ""
		for _, s := range open(t, path).Sites() {
			if w := s.Encoding().Where; name == "" && len(w) > 0 {
				name = w[0].Tensor
			}
		}
		editTensor(t, path, func(x *onnx.Tensor) bool { return x.Name == name }, func(x *onnx.Tensor, values []float64) {
			values[row*int(x.Dims[len(x.Dims)-1])+column] = v
		})
	}
}

// setRows changes all numbers of some rows of the first table that an encoding
// owns.
func setRows(from, to int, f func(float64) float64) func(*testing.T, string) {
	return editRows(func(x *onnx.Tensor, values []float64) {
		width := int(x.Dims[len(x.Dims)-1])
		for i := from * width; i < to*width; i++ {
			values[i] = f(values[i])
		}
	})
}

// swapRows exchanges two rows of the first table that an encoding owns.
func swapRows(a, b int) func(*testing.T, string) {
	return editRows(func(x *onnx.Tensor, values []float64) {
		width := int(x.Dims[len(x.Dims)-1])
		for i := range width {
			values[a*width+i], values[b*width+i] = values[b*width+i], values[a*width+i]
		}
	})
}

// setWave writes the first table anew by its own formula with other parameters.
func setWave(change func(*schemes.Sinusoid)) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		wave, ok := open(t, path).Sites()[0].Encoding().Scheme.(schemes.Sinusoid)
		if !ok {
			t.Fatal("no sinusoid")
		}
		wave.Frequencies = nil
		change(&wave)
		editRows(func(x *onnx.Tensor, values []float64) {
			for i := 0; i < len(values); i += wave.Dim {
				wave.Row(i/wave.Dim, values[i:i+wave.Dim])
			}
		})(t, path)
		if now := open(t, path).Sites()[0].Encoding().Scheme; !now.Equal(wave) {
			t.Fatalf("it is read as %s, not %s", now, wave)
		}
	}
}

func editRows(change func(*onnx.Tensor, []float64)) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		name := ""
		for _, s := range open(t, path).Sites() {
			if w := s.Encoding().Where; name == "" && len(w) > 0 {
				name = w[0].Tensor
			}
		}
		editTensor(t, path, func(x *onnx.Tensor) bool { return x.Name == name }, change)
	}
}

// flipFirst changes the last bit of a tensor's first element.
func flipFirst(name string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		parts, err := open(t, path).(position.Parted).Parts()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if p.Kind == "tensor" && p.Name == name {
				flipAt(t, path, p.Where.Range[0], 1)
				return
			}
		}
		t.Fatalf("no tensor %s", name)
	}
}

// setTensor multiplies an element of a constant.
func setTensor(name string, i int, by float64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		editTensor(t, path, func(x *onnx.Tensor) bool { return x.Name == name }, func(_ *onnx.Tensor, values []float64) { values[i] *= by })
	}
}

func editTensor(t *testing.T, path string, is func(*onnx.Tensor) bool, change func(*onnx.Tensor, []float64)) {
	t.Helper()
	f := openONNX(t, path)
	done := false
	f.Tensors(func(x *onnx.Tensor, _ *onnx.Graph) {
		if done || !is(x) {
			return
		}
		done = true
		values, err := x.Floats(0, x.Len())
		if err != nil {
			t.Fatal(err)
		}
		change(x, values)
		b, err := onnx.EncodeFloats(x.Type, values, nil)
		if x.Type == onnx.Int64 {
			b, err = nil, nil
			for _, v := range values {
				b = binary.LittleEndian.AppendUint64(b, uint64(int64(v)))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		e := onnx.NewEditor(f)
		if err := e.ReplaceTensor(x, x.Dims, patch.Bytes(b), "fault"); err != nil {
			t.Fatal(err)
		}
		saved(t, e, path)
	})
	if !done {
		t.Fatal("no such tensor")
	}
}

// editingTensor adds to the first element of the first tensor that is meant.
func editingTensor(is func(*onnx.Tensor) bool, add float64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		editTensor(t, path, is, func(_ *onnx.Tensor, values []float64) { values[0] += add })
	}
}

// editing changes the first node that the function takes.
func editing(change func(e *onnx.Editor, n *onnx.Node) bool) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		f := openONNX(t, path)
		e := onnx.NewEditor(f)
		for _, n := range f.Graph.Nodes {
			if change(e, n) {
				saved(t, e, path)
				return
			}
		}
		t.Fatal("no such node")
	}
}

// rebase gives the file another base after the planned one.
func rebase(base float64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		m := open(t, path)
		if _, err := position.Rescale(m, position.RescaleOptions{Base: base}); err != nil {
			t.Fatal(err)
		}
		p, err := m.Edits()
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, p, path)
	}
}

func setKey(key string, v gguf.Value) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		e := f.Edit()
		e.Set(key, v, "fault")
		p, err := e.Plan()
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, p, path)
	}
}

// mask changes the last but one element of the first square mask of truth
// values.
func mask(t *testing.T, path string) {
	t.Helper()
	f := openONNX(t, path)
	done := false
	f.Tensors(func(x *onnx.Tensor, _ *onnx.Graph) {
		k := len(x.Dims)
		if done || x.Type != onnx.Bool || k < 2 || x.Dims[k-1] < 8 || x.Dims[k-1] != x.Dims[k-2] {
			return
		}
		done = true
		flipAt(t, path, x.Range()[1]-2, 1)
	})
	if !done {
		t.Fatal("no mask")
	}
}

// rename changes every mention of a name that fills a field: the length before
// it says so.
func rename(from, to string) func(*testing.T, string) {
	return func(t *testing.T, path string) { t.Helper(); replaceLast(t, path, from, to) }
}

// replaceLast replaces the last mention: nodes come before initializers.
func replaceLast(t *testing.T, path, from, to string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.LastIndex(b, []byte(from))
	if i < 0 || len(from) != len(to) {
		t.Fatalf("no %s", from)
	}
	copy(b[i:], to)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func replaceBytes(t *testing.T, path, from, to string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.ReplaceAll(b, []byte(from), []byte(to)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// opset lowers the version in the model's operator set, the last number of a
// file that has no more.
func opset(t *testing.T, path string) {
	t.Helper()
	f := openONNX(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := byte(f.Opsets[""])
	i := bytes.LastIndex(b, []byte{0x10, v})
	if i < 0 {
		t.Fatal("no operator set")
	}
	flipAt(t, path, int64(i+1), v^(v-1))
	if g := openONNX(t, path); g.Opsets[""] != int64(v-1) {
		t.Fatalf("operator set %d", g.Opsets[""])
	}
}

// TestAmplitudeOfHalfPrecision holds that an attention factor which a graph of
// float16 stores rounded is no fault.
func TestAmplitudeOfHalfPrecision(t *testing.T) {
	source := filepath.Join(own, "../../shared/rewrite/onnx/llama-fp16-ts17.onnx")
	if _, err := os.Stat(source); err != nil {
		t.Skip("../shared/rewrite is not there")
	}
	target, plan := changed(t, source, rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 64}))
	if v := verify.Compare(open(t, source), open(t, target), verify.Options{Plan: plan}); v.Verdict != report.VerdictChangedAsPlanned {
		t.Errorf("%s: %s", v.Verdict, failure(v))
	}
}
