package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newALiBi(c *console) *cobra.Command {
	var o modelpatch.ALiBiOptions
	var d destination
	cmd := &cobra.Command{
		Use:   "alibi [--max-bias B] [--replace] FILE -o NEW",
		Short: "Add ALiBi's linear bias to a model's attentions",
		Long: `alibi adds a bias that grows with distance to every attention's scores, one
slope a head. Without --replace it comes on top of the encodings that are there;
with it they lose their effect. Outputs change, and a model that was not trained
with it needs fine-tuning.

In GGUF only mpt and jais have a key for it; ONNX graphs can be rewritten.

` + exitCodes,
		Example: `  modelpatch alibi model.onnx -o biased.onnx
  modelpatch alibi --replace --max-bias 8 mpt.gguf -o mpt-alibi.gguf`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				if err := explicitZero(cmd, "max-bias"); err != nil {
					return modelpatch.Result{}, err
				}
				return modelpatch.AddALiBi(cmd.Context(), files[0], o, modelpatch.OpenOptions{}, d.write)
			})
		},
	}
	cmd.Flags().Float64Var(&o.MaxBias, "max-bias", 8, "exponent of the steepest slope, 8 in the paper")
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "take the effect of the other encodings away")
	d.addFlags(cmd)
	d.addPatchFlags(cmd)
	return cmd
}
