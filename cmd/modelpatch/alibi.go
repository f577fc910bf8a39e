package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newALiBi(c *console) *cobra.Command {
	var o modelpatch.ALiBiOptions
	var d destination
	cmd := &cobra.Command{
		Use:   "alibi [--max-bias B | --slopes A,B,…] [--replace | --remove] FILE -o NEW",
		Short: "Add ALiBi's linear bias to a model's attentions",
		Long: `alibi adds a bias that grows with distance to every attention's scores, one
slope a head: from steep ones down to 2^-B. Without --replace it comes on top of the encodings that are there;
with it they lose their effect. --remove takes an ALiBi bias that is there away.
Cross-attentions are left alone. Outputs change, and a model that was not trained
with it needs fine-tuning.

In GGUF only mpt and jais have a key for it; ONNX graphs can be rewritten.`,
		Example: `  modelpatch alibi model.onnx -o biased.onnx
  modelpatch alibi --replace --max-bias 8 mpt.gguf -o mpt-alibi.gguf`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				if err := explicitZero(cmd, "max-bias"); err != nil {
					return modelpatch.Result{}, err
				}
				o.Open, o.Write = d.open, d.write
				return modelpatch.AddALiBi(cmd.Context(), files[0], o)
			})
		},
	}
	cmd.Flags().Float64Var(&o.MaxBias, "max-bias", 0, "exponent of the flattest slope, 2^-B of one (8, as in the paper)")
	cmd.Flags().Float64SliceVar(&o.Slopes, "slopes", nil, "slopes, one a head, in place of those by --max-bias")
	cmd.Flags().BoolVar(&o.Remove, "remove", false, "take an ALiBi bias that is there away")
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "take the effect of the other encodings away")
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}
