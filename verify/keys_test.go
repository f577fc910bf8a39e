package verify_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// keyFile is a GGUF file of four layers with heads of 16: its architecture, keys without that prefix, and divisors.
type keyFile struct {
	architecture string
	keys         map[string]gguf.Value
	vectors      map[string][]float32
}

// write writes the file. Layers slide but for every fourth, or as a pattern of keys says.
func (k keyFile) write(t *testing.T) string {
	t.Helper()
	empty := append([]byte("GGUF\x03"), make([]byte, 19)...)
	f, err := gguf.NewFile(bytes.NewReader(empty), int64(len(empty)))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Edit()
	e.Set("general.architecture", gguf.String(k.architecture), "")
	for key, v := range map[string]gguf.Value{"context_length": gguf.Uint32(512), "block_count": gguf.Uint32(4), "embedding_length": gguf.Uint32(64), "attention.head_count": gguf.Uint32(4)} {
		e.Set(k.architecture+"."+key, v, "")
	}
	for key, v := range k.keys {
		e.Set(k.architecture+"."+key, v, "")
	}
	for name, values := range k.vectors {
		var raw bytes.Buffer
		binary.Write(&raw, binary.LittleEndian, values)
		e.Add(name, gguf.F32, []int64{int64(len(values))}, patch.Bytes(raw.Bytes()), "")
	}
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(p.NewReader(0, bytes.NewReader(empty))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "before.gguf")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// encodings says what layers of a model turn by.
func encodings(m position.Model) string {
	var said []string
	for _, s := range m.Sites() {
		e := s.Encoding()
		r, ok := e.Scheme.(schemes.Rotary)
		if !ok {
			said = append(said, e.Scheme.Name())
			continue
		}
		said = append(said, strings.TrimSpace(fmt.Sprintf("%v base %s %s", e.Layers, schemes.Text(r.Base), r.Scaling.Words())))
	}
	return strings.Join(said, "; ")
}

func setting(pairs ...string) verb {
	return func(m position.Model) (position.Outcome, error) {
		var o position.SetOptions
		for _, p := range pairs {
			key, value, _ := strings.Cut(p, "=")
			o.Keys = append(o.Keys, position.KeyValue{Key: key, Value: value})
		}
		return position.SetKeys(m, o)
	}
}

// TestKeysOfSeveralLayers: keys of llama.cpp act on layers of several kinds, each by its architecture's code (load_arch_hparams and
// build_arch_graph of src/models). What a verb decides is what they all become, or it is refused.
func TestKeysOfSeveralLayers(t *testing.T) {
	f32, text := gguf.Float32, gguf.String
	window := gguf.Uint32(32)
	alternate := gguf.Int32s(1, 0, 1, 0)
	gemma2 := keyFile{"gemma2", map[string]gguf.Value{"attention.sliding_window": window, "rope.freq_base_swa": f32(777)}, nil}
	olmo2 := keyFile{"olmo2", map[string]gguf.Value{"attention.sliding_window": window, "rope.freq_base": f32(500000)}, nil}
	scaledOlmo2 := keyFile{"olmo2", map[string]gguf.Value{"attention.sliding_window": window, "rope.freq_base": f32(500000), "rope.scaling.type": text("linear"), "rope.scaling.factor": f32(2)}, nil}
	laguna := keyFile{"laguna", map[string]gguf.Value{"attention.sliding_window": window, "rope.freq_base": f32(500000), "rope.freq_base_swa": f32(10000)}, nil}
	gptOSS := keyFile{"gpt-oss", map[string]gguf.Value{"attention.sliding_window": window, "rope.scaling.type": text("none"), "rope.scaling.factor": f32(4)}, nil}
	spark := keyFile{"spark2_5", map[string]gguf.Value{"attention.sliding_window": window, "attention.sliding_window_pattern": alternate, "rope.freq_base": f32(5000), "rope.freq_base_swa": f32(10000)}, nil}
	divided := keyFile{"llama", map[string]gguf.Value{"rope.freq_base": f32(500000)}, map[string][]float32{"rope_freqs.weight": {1, 1, 1.1, 2, 7, 8, 8, 8}}}
	random := keyFile{"llama", nil, map[string][]float32{"rope_freqs.weight": {1, 3, 2, 5, 4, 1.5, 8, 2}}}
	unknownType := keyFile{"llama", map[string]gguf.Value{"rope.scaling.type": text("llama3"), "rope.scaling.factor": f32(8)}, nil}
	noFactor := keyFile{"llama", map[string]gguf.Value{"rope.scaling.type": text("linear"), "rope.scaling.factor": f32(0)}, nil}
	gemma3 := keyFile{"gemma3", map[string]gguf.Value{"attention.sliding_window": window, "rope.freq_base": f32(1000000), "rope.scaling.attn_factor": f32(2), "attention.sliding_window_pattern": gguf.Uint32(2)}, nil}
	maple := keyFile{"maple", map[string]gguf.Value{"attention.sliding_window": window, "attention.sliding_window_pattern": alternate, "rope.freq_base": f32(5000), "rope.freq_base_swa": f32(7000)}, nil}
	qwen3vl := keyFile{"qwen3vl", map[string]gguf.Value{"rope.dimension_sections": gguf.Int32s(4, 2, 2, 0)}, nil}
	lists := map[string][]float32{"rope_factors_long.weight": {2, 3, 4, 5, 6, 7, 8, 9}, "rope_factors_short.weight": {1, 1, 1, 1, 2, 2, 2, 2}}
	phi3 := keyFile{"phi3", map[string]gguf.Value{"rope.scaling.original_context_length": gguf.Uint32(128)}, lists}
	phi3Scaled := keyFile{"phi3", map[string]gguf.Value{"rope.scaling.original_context_length": gguf.Uint32(128), "rope.scaling.type": text("linear"), "rope.scaling.factor": f32(2)}, lists}
	deepSeek4 := keyFile{"deepseek4", map[string]gguf.Value{"attention.sliding_window": window, "attention.compress_ratios": gguf.Int32s(0, 0, 4, 4), "attention.compress_rope_freq_base": f32(160000),
		"rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(4), "rope.scaling.original_context_length": gguf.Uint32(128)}, nil}
	for _, c := range []struct {
		name string
		file keyFile
		do   verb
		want string // encodings of the new file; "": refused
	}{
		{"extend, the base of sliding layers pinned", gemma2, doubled(position.ExtendOptions{}), "[1 3] base 10000 yarn ×2 from 512 with attention factor 1.069; [0 2] base 777 yarn ×2 from 512 with attention factor 1.069"},
		{"linear, the base of sliding layers pinned", gemma2, rescaled(position.RescaleOptions{Scaling: "linear", Factor: 4}), "[1 3] base 10000 linear ×4; [0 2] base 777 linear ×4"},
		{"linear of named layers, and keys of both", gemma2, rescaled(position.RescaleOptions{Scaling: "linear", Factor: 4, Layers: position.LayersGlobal}), ""},
		{"the base of named layers", spark, rescaled(position.RescaleOptions{Base: 30000, Layers: position.LayersLocal}), "[1 3] base 5000 none; [0 2] base 30000 none"},
		{"the base of named layers, pinned", laguna, rescaled(position.RescaleOptions{Base: 30000, Layers: position.LayersLocal}), "[0] base 500000 none; [1 2 3] base 30000 none"},
		{"the base of the others", laguna, rescaled(position.RescaleOptions{Base: 30000, Layers: position.LayersGlobal}), "[0] base 30000 none; [1 2 3] base 10000 none"},
		{"one base, two scalings", scaledOlmo2, rescaled(position.RescaleOptions{Base: 50000}), "[3] base 50000 linear ×2; [0 1 2] base 50000 none"},
		{"one base, of named layers", scaledOlmo2, rescaled(position.RescaleOptions{Base: 50000, Layers: position.LayersLocal}), ""},
		{"one base in place of two scalings", scaledOlmo2, rescaled(position.RescaleOptions{Scaling: "ntk", Factor: 4}), "[] base 2438027.2 none"},
		{"a scaling of one kind of layers", olmo2, rescaled(position.RescaleOptions{Scaling: "linear", Factor: 4}), "[3] base 500000 linear ×4; [0 1 2] base 500000 none"},
		{"a scaling of one kind and a base of both", olmo2, rescaled(position.RescaleOptions{Base: 50000, Scaling: "linear", Factor: 4}), "[3] base 50000 linear ×4; [0 1 2] base 50000 none"},
		{"extend, a scaling of one kind", olmo2, doubled(position.ExtendOptions{}), "[3] base 500000 yarn ×2 from 512 with attention factor 1.069; [0 1 2] base 500000 none"},
		{"set, a scaling of one kind", olmo2, setting("rope.scaling.type=linear", "rope.scaling.factor=2"), "[3] base 500000 linear ×2; [0 1 2] base 500000 none"},
		{"none, and a factor that sliding layers read", gptOSS, rescaled(position.RescaleOptions{Scaling: "none"}), "[] base 10000 none"},
		{"a factor of one kind of layers for both", gptOSS, rescaled(position.RescaleOptions{Scaling: "linear", Factor: 4}), "[] base 10000 linear ×4"},
		{"another base beside divisors", divided, setting("rope.freq_base=10000"), "[] base 10000 custom"},
		{"a factor beside divisors", divided, setting("rope.scaling.factor=2"), "[] base 500000 custom"},
		{"another base beside divisors of no formula", random, setting("rope.freq_base=20000"), "[] base 20000 custom"},
		{"a type that engines do not know", unknownType, rescaled(position.RescaleOptions{Scaling: "none"}), "[] base 10000 none"},
		{"a factor of 0", noFactor, rescaled(position.RescaleOptions{Scaling: "none"}), "[] base 10000 none"},
		{"an amplitude that sliding layers read", gemma3, rescaled(position.RescaleOptions{Scaling: "linear", Factor: 4}), ""},
		{"an amplitude that is asked to stay", gemma3, rescaled(position.RescaleOptions{Scaling: "linear", Factor: 4, AttentionFactor: 2}), "[1 3] base 1000000 linear ×4 with attention factor 2; [0 2] base 10000 none amplitude 2"},
		{"extend, an amplitude that sliding layers read", gemma3, doubled(position.ExtendOptions{}), "[1 3] base 1000000 yarn ×2 from 512 with attention factor 2.139; [0 2] base 10000 none amplitude 2"},
		{"a base where full layers do not turn", maple, rescaled(position.RescaleOptions{Base: 50000}), "[0 2] base 50000 none"},
		{"a key that no layer reads", maple, setting("rope.freq_base=123456"), "[0 2] base 7000 none"},
		{"interleaved sections", qwen3vl, rescaled(position.RescaleOptions{Base: 50000}), "[] base 50000 none"},
		{"extend, interleaved sections", qwen3vl, doubled(position.ExtendOptions{}), "[] base 10000 yarn ×2 from 512 with attention factor 1.069"},
		{"set a length, interleaved sections", qwen3vl, setting("context_length=1024"), "[] base 10000 none"},
		{"a factor beside lists", phi3, setting("rope.scaling.factor=2"), "[] base 10000 longrope from 128"},
		{"a base beside lists and a factor", phi3Scaled, rescaled(position.RescaleOptions{Base: 50000}), "[] base 50000 longrope from 128"},
		{"a length beside lists and a factor", phi3Scaled, doubled(position.ExtendOptions{Method: position.MethodNone}), "[] base 10000 longrope from 128"},
		{"YaRN of compressed layers", deepSeek4, rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 8, OriginalLength: 128}), "[0 1] base 10000 none; [2 3] base 160000 yarn ×8 from 128"},
		{"an amplitude that is in the scores as well, beside a key that is not read", keyFile{"glm-dsa", map[string]gguf.Value{"rope.scaling.yarn_log_multiplier": f32(0.1)}, nil},
			rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 128}), ""},
		{"YaRN of another length, by the same rounded ramp", deepSeek4, rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 129}), "[0 1] base 10000 none; [2 3] base 160000 yarn ×4 from 129"},
		{"extend, compressed layers", deepSeek4, doubled(position.ExtendOptions{}), "[0 1] base 10000 none; [2 3] base 160000 yarn ×8 from 128"},
	} {
		t.Run(c.name, func(t *testing.T) { keysBecome(t, c.file.write(t), c.do, c.want) })
	}
}

// keysBecome does something to a file, and holds the new one against what was decided, by the checks of a change and by its plan.
func keysBecome(t *testing.T, path string, do verb, want string) {
	t.Helper()
	m := open(t, path)
	var was []schemes.Scheme
	for _, s := range m.Sites() {
		was = append(was, s.Encoding().Scheme)
	}
	out, err := do(m)
	if refusal, ok := errors.AsType[*position.Refusal](err); ok && want == "" {
		if refusal.Why == "" || len(refusal.Hints()) == 0 {
			t.Errorf("refused without a reason, or without what would work: %+v", refusal)
		}
		return
	}
	if err != nil || out.Nothing != "" || want == "" {
		t.Fatalf("%v %s", err, out.Nothing)
	}
	target, plan := changed(t, path, do)
	after := open(t, target)
	if got := encodings(after); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := verify.CheckDecision(was, after, out.Becomes); err != nil {
		t.Errorf("another than decided: %v", err)
	}
	if v := verify.Compare(open(t, path), after, verify.Options{Plan: plan, Again: open(t, target)}); v.Verdict == report.VerdictDifferent || v.Verdict == report.VerdictBroken {
		t.Errorf("another than planned: %s", failure(v))
	}
}
