package change

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestDecisionsAreHeld lets verbs decide one thing and write another: the check
// of the new file must tell, for every verb, and nothing may be left behind.
func TestDecisionsAreHeld(t *testing.T) {
	rotary := func(change func(*schemes.Rotary)) func(*position.Outcome) {
		return func(o *position.Outcome) {
			r := o.Becomes[0].Scheme.(schemes.Rotary)
			change(&r)
			o.Becomes[0].Scheme = r
		}
	}
	for _, c := range []struct {
		name, model string
		verb        func(position.Model) (position.Outcome, error)
		lie         func(*position.Outcome) // about what was decided
		want        string
	}{
		{"another base", "gguf/llama-plain.gguf", func(m position.Model) (position.Outcome, error) {
			return position.Rescale(m, position.RescaleOptions{Base: 20000})
		}, rotary(func(r *schemes.Rotary) { r.Base = 20001 }), "not those of RoPE base 20001"},
		{"another factor", "onnx/llama-dy23.onnx", func(m position.Model) (position.Outcome, error) {
			return position.Rescale(m, position.RescaleOptions{Scaling: "linear", Factor: 2})
		}, rotary(func(r *schemes.Rotary) { r.Scaling.Factor = 2.01 }), "not those of RoPE base 10000"},
		{"another amplitude", "onnx/llama-dy23.onnx", func(m position.Model) (position.Outcome, error) {
			return position.Rescale(m, position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 4096})
		}, rotary(func(r *schemes.Rotary) { r.Scaling.AttentionFactor *= 1.01 }), "not those of RoPE base 10000"},
		{"an encoding that was to stay", "gguf/llama-plain.gguf", func(m position.Model) (position.Outcome, error) {
			return position.Rescale(m, position.RescaleOptions{Base: 20000})
		}, func(o *position.Outcome) { o.Becomes = nil }, "was to stay RoPE base 10000"},
		{"other slopes", "onnx/tutorial-dy18.onnx", func(m position.Model) (position.Outcome, error) {
			return position.AddALiBi(m, position.ALiBiOptions{})
		}, func(o *position.Outcome) { o.Becomes[0].Scheme = schemes.ALiBi{Heads: 2, MaxBias: 9} }, "slope"},
		{"a bias that is not there", "onnx/tutorial-dy18.onnx", func(m position.Model) (position.Outcome, error) {
			return position.AddALiBi(m, position.ALiBiOptions{})
		}, func(o *position.Outcome) { o.Becomes[0].Scheme = schemes.ALiBi{Heads: 3, MaxBias: 8} }, "was to be added and is not there"},
		{"an effect that stayed", "onnx/tutorial-dy18.onnx", func(m position.Model) (position.Outcome, error) {
			return position.AddALiBi(m, position.ALiBiOptions{})
		}, func(o *position.Outcome) { o.Becomes = append(o.Becomes, position.Becoming{Site: 0}) }, "was to have no effect and has one"},
		{"other rows", "onnx/gpt2-dy23.onnx", func(m position.Model) (position.Outcome, error) {
			return position.Extend(m, position.ExtendOptions{Length: 64})
		}, func(o *position.Outcome) { o.Becomes[0].Rows = shifted{o.Becomes[0].Rows} }, "row 48, column 0 was to be"},
		{"more positions", "onnx/gpt2-dy23.onnx", func(m position.Model) (position.Outcome, error) {
			return position.Extend(m, position.ExtendOptions{Length: 64})
		}, func(o *position.Outcome) { o.Becomes[0].Positions = 65 }, "was to encode 65 positions and encodes 64"},
		{"another wave", "onnx/tutorial-dy18.onnx", func(m position.Model) (position.Outcome, error) {
			return position.Extend(m, position.ExtendOptions{Length: 120})
		}, func(o *position.Outcome) {
			s := o.Becomes[0].Scheme.(schemes.Sinusoid)
			s.Base = 9000
			o.Becomes[0].Scheme = s
		}, "not the formula's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			target := filepath.Join(folder, "new"+filepath.Ext(c.model))
			run := func(lie func(*position.Outcome)) error {
				change := Change{command: "test"}
				change.decide = func(m position.Model) (position.Outcome, error) {
					o, err := c.verb(m)
					if err == nil {
						lie(&o)
					}
					return o, err
				}
				_, err := change.Run(t.Context(), "../../testdata/"+c.model, source.Options{}, WriteOptions{Output: target})
				return err
			}
			err := run(c.lie)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one that says %q", err, c.want)
			}
			if left, _ := os.ReadDir(folder); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if err := run(func(*position.Outcome) {}); err != nil {
				t.Errorf("without the lie: %v", err)
			}
		})
	}
}

// shifted are rows that are not those that were decided.
type shifted struct{ position.RowSource }

func (s shifted) Row(i int, dst []float64) error {
	err := s.RowSource.Row(i, dst)
	for k := range dst {
		dst[k] += 0.5
	}
	return err
}

// The command that a plan tells has every number of a scaling.
func TestCommandTellsNumbers(t *testing.T) {
	var s schemes.Scaling
	want := "rope --base 2 --scaling yarn"
	for i, p := range schemes.ScalingNumbers {
		p.Set(&s, float64(i+3))
		want += fmt.Sprintf(" --%s %d", p.Name, i+3)
	}
	o := position.RescaleOptions{Base: 2, Scaling: "yarn", Length: 99, MScale: 1, MScaleAllDim: 2}
	o.SetParameters(s)
	want += " --mscale 1 --mscale-all-dim 2 --len 99"
	if got := rescaleCommand(o); got != want || !reflect.DeepEqual(o.Parameters(), s) {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, name := range []string{"--factor", "--original-length", "--low-freq-factor", "--high-freq-factor", "--beta-fast", "--beta-slow", "--attention-factor"} {
		if !strings.Contains(want, name+" ") {
			t.Errorf("no %s among the numbers", name)
		}
	}
}

// exhausted is a model that gives up when it is asked for its grid, as one does whose graph took all that may be spent on looking at it.
type exhausted struct {
	position.Model
	position.Gridder
}

func (exhausted) PatchGrid() schemes.Grid { panic(&eval.Spent{Steps: 1, What: "the look"}) }

// TestGivenUp: what a model is asked ahead of a verb may be too much, too, and is a refusal then.
func TestGivenUp(t *testing.T) {
	m, err := source.Open(t.Context(), "../../testdata/onnx/cases/image-plane.onnx", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := &run{Change: ResizeGrid.Of(position.GridOptions{Height: 8, Width: 8})}
	var refusal *position.Refusal
	if _, err := c.decided(exhausted{m, m.(position.Gridder)}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "given up after 1 steps") {
		t.Errorf("%v", err)
	}
}
