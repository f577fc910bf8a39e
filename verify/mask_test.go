package verify_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// TestScoresBelowMasks: of a model whose scores reach what other files mask with, no key is masked but by its own mask.
// The sample and the full run say the same.
func TestScoresBelowMasks(t *testing.T) {
	loud := filepath.Join(t.TempDir(), "loud.gguf")
	copyFile(t, "../testdata/gguf/llama-plain.gguf", loud)
	louder(t, loud, "attn_q.weight")
	louder(t, loud, "attn_k.weight")
	target, plan := changed(t, loud, rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 32}))
	before, after := open(t, loud), open(t, target)
	trial, err := before.Attentions()[0].Run(48, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	reached := false
	for q, query := range trial.Heads[0].Query {
		for _, key := range trial.Heads[0].Key[:q+1] {
			score := 0.0
			for i := range query {
				score += query[i] * key[i] * trial.Heads[0].Scale
			}
			reached = reached || score < -1e4
		}
	}
	if !reached {
		t.Fatal("no score is as low as a mask")
	}
	for _, c := range []struct {
		o    verify.Options
		want string
	}{
		{verify.Options{Plan: plan}, report.VerdictChangedAsPlanned},
		{verify.Options{Plan: plan, Sample: verify.Sample{Full: true}}, report.VerdictChangedAsPlanned},
		{verify.Options{}, report.VerdictConsistent},
		{verify.Options{Sample: verify.Sample{Full: true}}, report.VerdictConsistent},
	} {
		if c.o.Plan == nil {
			c.o.Again, c.o.Command = open(t, target), "rope"
		}
		if v := verify.Compare(before, after, c.o); v.Verdict != c.want {
			t.Errorf("full %t, plan %t: %s: %s", c.o.Sample.Full, c.o.Plan != nil, v.Verdict, failure(v))
		}
	}
	if v := verify.Compare(before, after, verify.Options{Expect: report.ExpectSameOnPrefix}); v.Verdict != report.VerdictDifferent {
		t.Errorf("%s where the old positions were to stay", v.Verdict)
	}
}

// TestMorePositionsSayNoLess: where scores are so large that outputs hide what changed, a run of all positions tells it
// as the sample does.
func TestMorePositionsSayNoLess(t *testing.T) {
	loud := filepath.Join(t.TempDir(), "loud.gguf")
	copyFile(t, "../testdata/gguf/llama-plain.gguf", loud)
	setKey("llama.context_length", gguf.Uint32(512))(t, loud)
	for range 3 {
		louder(t, loud, "attn_q.weight")
	}
	target, _ := changed(t, loud, rescaled(position.RescaleOptions{Base: 10000.01}))
	differs := func(s verify.Sample) (layers int) {
		for _, k := range verify.Compare(open(t, loud), open(t, target), verify.Options{Expect: report.ExpectChanged, Sample: s}).Checks {
			if k.Name == "attention" && strings.HasSuffix(k.Why, "differs, as was planned") {
				layers++
			}
		}
		return layers
	}
	if sample, full := differs(verify.Sample{}), differs(verify.Sample{Full: true}); sample != 2 || full != sample {
		t.Errorf("%d layers differ in the sample, and %d in full", sample, full)
	}
}

// louder multiplies the float32 numbers of all tensors of a name by 256.
func louder(t *testing.T, path, name string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := open(t, path).(position.Parted).Parts()
	if err != nil {
		t.Fatal(err)
	}
	some := false
	for _, p := range parts {
		if p.Kind != "tensor" || !strings.HasSuffix(p.Name, name) || !strings.HasPrefix(p.Head, "F32") {
			continue
		}
		some = true
		for at := p.Where.Range[0]; at < p.Where.Range[1]; at += 4 {
			x := math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
			binary.LittleEndian.PutUint32(b[at:], math.Float32bits(256*x))
		}
	}
	if err := os.WriteFile(path, b, 0o666); err != nil || !some {
		t.Fatal("no such tensor: ", err)
	}
}

// TestOneStatementOfAttention: what the layers and second opinions come to stands in one check before them.
func TestOneStatementOfAttention(t *testing.T) {
	source := "../testdata/gguf/mpt-alibi.gguf"
	target, _ := changed(t, source, biased(position.ALiBiOptions{Remove: true}))
	agrees := func(c verify.Case) ([][]float64, error) { return nil, os.ErrDeadlineExceeded }
	for _, c := range []struct {
		o             verify.Options
		verdict, says string
	}{
		{verify.Options{Expect: report.ExpectSame}, report.CheckFail, "layer 0, 2 heads of 4, positions 0 to 47: scores and outputs: the output differs (and 1 more); 2 of 2 layers, heads sampled 4 of 8, positions 0 to 47; not checked: quality"},
		{verify.Options{Expect: report.ExpectChanged, SecondOpinion: agrees}, report.CheckPass, "2 of 2 layers, heads sampled 4 of 8, positions 0 to 47; not checked: quality; no second opinion: layer 0, head 0: i/o timeout (and 1 more)"},
		{verify.Options{Expect: report.ExpectChanged, SecondOpinion: func(c verify.Case) ([][]float64, error) { return c.Value, nil }}, report.CheckFail, "a second opinion differs: layer 0, head 0 (and 1 more); 2 of 2 layers"},
	} {
		v := verify.Compare(open(t, source), open(t, target), c.o)
		for _, k := range v.Checks {
			if k.Name == "attention" {
				if k.Verdict != c.verdict || !strings.HasPrefix(k.Why, c.says) {
					t.Errorf("%s: %s", k.Verdict, k.Why)
				}
				break
			}
		}
	}
}
