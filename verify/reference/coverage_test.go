package reference_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/verify/reference"
)

// update writes docs/measured/attention.md anew: go test ./verify/reference -run Coverage -update
var update = flag.Bool("update", false, "write docs/measured/attention.md")

// positions are run of each attention: no power of two, and longer than any window of the
// corpus's small models.
const positions = 13

// covered is what became of the attentions of one file.
type covered struct {
	file    string
	all     int
	checked int      // held against the formula, or the formula itself
	taken   int      // run, with a term that no formula makes
	why     []string // what no formula makes, and why others were not run
	terms   []string
}

// TestCoverage runs every attention of every model that is there. None may be computed
// otherwise than its report says, and at least 95 of 100 files with attention must be
// checked in all layers.
func TestCoverage(t *testing.T) {
	var table []covered
	shared := false
	for _, pattern := range []string{"../../testdata/onnx/*.onnx", "../../testdata/gguf/*.gguf", "../../../shared/corpus/onnx/*.onnx", "../../../shared/corpus/gguf/*.gguf", "../../../shared/corpus/order/*.onnx", "../../../shared/rewrite/onnx/*.onnx", "../../../shared/rewrite/gguf/*.gguf"} {
		paths, _ := filepath.Glob(pattern)
		shared = shared || len(paths) > 0 && strings.Contains(pattern, "shared")
		for _, path := range paths {
			m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{})
			if err != nil {
				continue // a shard without its siblings, or no model
			}
			if c := cover(t, path, m); c.all > 0 {
				table = append(table, c)
			}
			m.Close()
		}
	}
	whole := 0
	for _, c := range table {
		if c.checked+c.taken == c.all {
			whole++
		}
	}
	t.Logf("%d files with attention, %d checked in all layers", len(table), whole)
	if whole*100 < len(table)*95 {
		t.Errorf("%d of %d files are checked in all layers", whole, len(table))
	}
	if *update && shared {
		writeTable(t, table, whole)
	}
}

func cover(t *testing.T, path string, m position.Model) covered {
	t.Helper()
	c := covered{file: strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(path), "../../../shared/"), "../../")}
	for _, a := range m.Attentions() {
		c.all++
		why := a.Unsupported
		if a.Run != nil {
			e, err := explained(m, a)
			switch {
			case err != nil:
				why = err.Error()
			case e.Wrong != "":
				t.Errorf("%s, layer %d: %s", path, a.Layer, e.Wrong)
				why = e.Wrong
			case e.Unknown != "":
				why = e.Unknown
				c.taken++
			default:
				c.checked++
				for _, term := range e.Terms {
					c.note(&c.terms, term)
				}
			}
		}
		if why != "" {
			c.note(&c.why, why)
		}
	}
	return c
}

// note adds a sentence, once.
func (c *covered) note(to *[]string, says string) {
	for _, have := range *to {
		if have == says {
			return
		}
	}
	*to = append(*to, says)
}

func explained(m position.Model, a *position.Attention) (*reference.Explained, error) {
	trial, err := a.Run(positions, nil)
	if err != nil {
		return nil, err
	}
	r, err := reference.New(m, a, trial)
	if err != nil {
		return nil, err
	}
	e, err := r.Explain()
	if err != nil {
		return nil, err
	}
	if trial.Heads[0].Scores == nil { // the formula is what there is
		if _, err = r.Output(&trial.Heads[0]); err == nil {
			e.Terms = append(e.Terms, "the file's weights in the formula of its architecture")
		}
	}
	return e, err
}

func writeTable(t *testing.T, table []covered, whole int) {
	t.Helper()
	formula := 0
	for _, c := range table {
		if c.checked == c.all {
			formula++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Reference attention: what is checked

Made by `+"`go test ./verify/reference -run TestCoverage -update`"+` over the models that this project is tried on.

`+"`verify`"+` cuts each attention out of the file and runs it on seeded states in float64: an
ONNX graph computes its scores, weights and outputs itself; of a GGUF file the weights
go into the formula of its architecture. What a graph computes is then held against the
formula that the report tells: the rotation of queries and keys, the bias, the masks,
softmax(cap(scale·query·key) + bias)·value.

%d of %d files with attention are run in all layers, and %d are their formula in all of
them. *Checked* are layers that are their formula; *taken* are layers that run and hold a term that no formula makes: it is
named, taken as the file makes it, and compared before and after a change.

| file | layers | checked | taken | what acts, or why not |
|---|---|---|---|---|
`, whole, len(table), formula)
	for _, c := range table {
		says := strings.Join(append(append([]string{}, c.terms...), c.why...), "; ")
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", c.file, c.all, c.checked, c.taken, strings.ReplaceAll(says, "|", "\\|"))
	}
	if err := os.WriteFile("../../docs/measured/attention.md", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
