package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newRelative(c *console) *cobra.Command {
	var o modelpatch.RelativeOptions
	var d destination
	cmd := &cobra.Command{
		Use:   "relative [--max-distance D] [--buckets B] FILE -o NEW",
		Short: "Change the buckets of a relative bias (T5, MPNet)",
		Long: `relative changes to which distance a bias by buckets tells positions apart, and
by how many buckets, as the model's configuration would. The table stays where
only the distance changes. Of another number of buckets each has the mean of the
old bias over the distances that fall into it; where distance and buckets double
together nothing changes up to the old distance.

In ONNX the graph then looks buckets up in a list by distance; llama.cpp counts
to 128 whatever the file says.

` + exitCodes,
		Example: `  modelpatch relative --max-distance 512 t5.onnx -o t5-far.onnx
  modelpatch relative --buckets 64 --max-distance 256 t5.onnx -o t5-64.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				if err := explicitZero(cmd, "max-distance", "buckets"); err != nil {
					return modelpatch.Result{}, err
				}
				return modelpatch.Relative(cmd.Context(), files[0], o, modelpatch.OpenOptions{}, d.write)
			})
		},
	}
	cmd.Flags().IntVar(&o.MaxDistance, "max-distance", 0, "distance from which on all share the last bucket")
	cmd.Flags().IntVar(&o.Buckets, "buckets", 0, "number of buckets")
	d.addFlags(cmd)
	d.addPatchFlags(cmd)
	return cmd
}
