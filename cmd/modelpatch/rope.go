package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// ropeCommand is rope with the values of its flags.
type ropeCommand struct {
	options   modelpatch.RescaleOptions
	operators modelpatch.OperatorOptions
	truncate  bool
	to        destination
}

func newRope(c *console) *cobra.Command {
	var x ropeCommand
	cmd := &cobra.Command{
		Use:   "rope [--base B] [--scaling TYPE --factor S …] FILE -o NEW",
		Short: "Change the base or scaling of RoPE",
		Long: fmt.Sprintf(`rope changes the base of a rotary position embedding, or replaces its scaling by
one of %s. Outputs change at every length.

Of two rotations, one for attentions that see everything and one for attentions
with a sliding window (Gemma 3, ModernBERT), the first is changed; --layers local
changes the other, and --layers 0-11,14 those layers (in a graph: attentions, in
its order).

The original length is the one that the model was trained with; by default the
file's own, or that of config.json beside it. The factor is by default --len over
that. --base alone keeps the scaling that is there. The attention factor
is the whole amplitude of cos and sin: by default 0.1 ln(factor) + 1 for YaRN
and 1 for the others. --mscale and --mscale-all-dim give it as DeepSeek's
configurations do. Dynamic NTK scaling is another base for each length: the file
gets that of --len. LongRoPE's two lists of factors come from a JSON file as
config.json has them; --use short or long has the model take one of the two that
it holds, whatever the length.

--like takes base and scaling from another model, of either format. Programs
compute YaRN's ramp differently; --as says whose numbers are written, by default
those of transformers in ONNX files and of llama.cpp in GGUF files.

--to-ops keeps base and scaling, and holds the rotation in RotaryEmbedding of
ai.onnx (standard, from opset 23 on), in that of com.microsoft (contrib), or in
operators that every engine has (plain).`, strings.Join(position.ScalingTypes(), ", ")),
		Example: `  modelpatch rope --base 1000000 model.gguf -o based.gguf
  modelpatch rope --scaling yarn --factor 4 --original-length 8192 --len 32768 \
      model.gguf -o model-32k.gguf
  modelpatch rope --scaling longrope --factors config.json model.onnx -o long.onnx
  modelpatch rope --like other.gguf model.onnx -o same.onnx
  modelpatch rope --scaling none model.gguf --in-place`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return x.to.run(c, files[0], func() (modelpatch.Result, error) { return x.run(cmd, files[0]) }, x.options.Factors, x.options.Like)
		},
	}
	x.addFlags(cmd)
	x.to.addFlags(c, cmd)
	x.to.addPatchFlags(cmd)
	return reading(c, cmd, &x.to.open)
}

func (x *ropeCommand) addFlags(cmd *cobra.Command) {
	f, o := cmd.Flags(), &x.options
	f.Float64Var(&o.Base, "base", 0, "base of the frequencies")
	f.StringVar(&o.Scaling, "scaling", "", "type of scaling: "+strings.Join(position.ScalingTypes(), ", "))
	f.Float64Var(&o.Factor, "factor", 0, "factor of scaling")
	f.IntVar(&o.OriginalLength, "original-length", 0, "length that the model was trained with")
	f.Float64Var(&o.LowFreqFactor, "low-freq-factor", 0, "llama3: turns below which frequencies are divided (1)")
	f.Float64Var(&o.HighFreqFactor, "high-freq-factor", 0, "llama3: turns above which they stay (4)")
	f.Float64Var(&o.BetaFast, "beta-fast", 0, "yarn: turns above which frequencies stay (32)")
	f.Float64Var(&o.BetaSlow, "beta-slow", 0, "yarn: turns below which they are divided (1)")
	f.Float64Var(&o.AttentionFactor, "attention-factor", 0, "amplitude of cos and sin")
	f.BoolVar(&x.truncate, "truncate", true, "yarn: round the ramp's bounds to whole pairs")
	f.Float64Var(&o.MScale, "mscale", 0, "yarn: amplitude by 0.1·mscale·ln(factor) + 1, over …")
	f.Float64Var(&o.MScaleAllDim, "mscale-all-dim", 0, "yarn: … 0.1·mscale_all_dim·ln(factor) + 1")
	f.StringVar(&o.Factors, "factors", "", "longrope: JSON `FILE` with short_factor and long_factor")
	f.StringVar(&o.Use, "use", "", "longrope: the one list that the model has for all lengths from now on: short, long")
	f.StringVar(&x.operators.Set, "to-ops", "", "keep the numbers, in other operators of ONNX: "+strings.Join(position.OperatorSets, ", "))
	f.StringVar(&o.Layers, "layers", "", "which layers: global, local, or numbers and ranges such as 0-11,14")
	f.StringVar(&o.As, "as", "", "whose numbers, where engines differ: "+strings.Join(schemes.Engines, ", "))
	f.StringVar(&o.Like, "like", "", "take base and scaling from another model `FILE`")
	f.IntVar(&o.Length, "len", 0, "length to reach: is stated as well, and gives a factor where none is given")
	group(cmd, flagsWhat, "base", "scaling", "like", "to-ops")
	group(cmd, flagsHow, append(scalingFlags(), "truncate", "factors", "use", "layers", "as", "len")...)
	takes(cmd, "use", schemes.ListShort, schemes.ListLong)
	takes(cmd, "scaling", position.ScalingTypes()...)
	takes(cmd, "to-ops", position.OperatorSets...)
	takes(cmd, "as", schemes.Engines...)
	suggests(cmd, "layers", position.LayersGlobal, position.LayersLocal)
}

// run changes the base or the scaling, or with --to-ops the operators, of the model in file.
func (x *ropeCommand) run(cmd *cobra.Command, file string) (modelpatch.Result, error) {
	if err := explicitZero(cmd, slices.Concat([]string{"base"}, scalingFlags(), []string{"len"})...); err != nil {
		return modelpatch.Result{}, err
	}
	if cmd.Flags().Changed("to-ops") {
		if cmd.Flags().Changed("base") || cmd.Flags().Changed("scaling") || x.options.Like != "" {
			return modelpatch.Result{}, &position.UsageError{What: "--to-ops keeps the numbers: change base and scaling before or after it"}
		}
		x.operators.Open, x.operators.Write = x.to.open, x.to.write
		return modelpatch.ToOperators(cmd.Context(), file, x.operators)
	}
	if x.options.Like != "" {
		if err := withLike(cmd); err != nil {
			return modelpatch.Result{}, err
		}
	}
	x.options.NoTruncate = !x.truncate
	x.options.Open, x.options.Write = x.to.open, x.to.write
	return modelpatch.Rescale(cmd.Context(), file, x.options)
}

// scalingFlags are the flags that are numbers of a scaling.
func scalingFlags() []string {
	var out []string
	for _, p := range schemes.ScalingNumbers {
		out = append(out, p.Name)
	}
	return append(out, "mscale", "mscale-all-dim")
}

// withLike refuses flags that --like takes from the other model.
func withLike(cmd *cobra.Command) error {
	for _, name := range slices.Concat([]string{"base", "scaling"}, scalingFlags(), []string{"truncate", "factors", "use"}) {
		if name != schemes.ParameterOriginalLength.Name && cmd.Flags().Changed(name) {
			return &position.UsageError{What: "--like with --" + name, Hint: "--like takes base and scaling from the other model; --len, --layers, --as and --original-length go with it"}
		}
	}
	return nil
}

// explicitZero refuses flags that were given as 0, which stands for none.
func explicitZero(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "0" {
			least := map[string]string{"base": "above 1", "factor": "at least 1"}[name]
			return &position.UsageError{What: "--" + name + " 0: it must be " + cmp.Or(least, "above 0")}
		}
	}
	return nil
}
