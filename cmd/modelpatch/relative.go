package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/schemes"
)

func newRelative(c *console) *cobra.Command {
	var o modelpatch.RelativeOptions
	var d destination
	var window string
	cmd := &cobra.Command{
		Use:   "relative [--max-distance D] [--buckets B] [--window HxW] FILE -o NEW",
		Short: "Change the reach of a relative bias (T5, MPNet, Shaw), or its window (BEiT)",
		Long: `relative changes to which distance a bias by buckets tells positions apart, and
by how many buckets, as the model's configuration would. The table stays where
only the distance changes. Of another number of buckets each has the mean of the
old bias over the distances that fall into it; where distance and buckets double
together nothing changes up to the old distance.

In ONNX the graph then looks buckets up in a list by distance; llama.cpp counts
to 128 whatever the file says.

A table with a row for each distance (Shaw et al., BERT's relative_key, a bias a
head) is clipped at --max-distance: farther rows repeat the farthest.

--window gives biases between all patches of a picture (BEiT, Data2Vec) another
size, and the graph a picture of so many patches: as transformers does for
BEiT (bilinear), or as timm does (bicubic, geometric: near distances keep their
bias). Windows that a picture is cut into (Swin) get another side by extend:
  modelpatch extend --image 384 --window 12 swin-224.onnx -o swin-384.onnx`,
		Example: `  modelpatch relative --max-distance 512 t5.onnx -o t5-far.onnx
  modelpatch relative --buckets 64 --max-distance 256 t5.onnx -o t5-64.onnx
  modelpatch relative --window 24x24 --method geometric beit-224.onnx -o beit-384.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				if err := explicitZero(cmd, "max-distance", "buckets"); err != nil {
					return modelpatch.Result{}, err
				}
				if cmd.Flags().Changed("window") {
					var err error
					if o.Window, err = sizeOf("window", window, "two numbers, height and width in patches: --window 24x24"); err != nil {
						return modelpatch.Result{}, err
					}
				}
				o.Open, o.Write = d.open, d.write
				return modelpatch.Relative(cmd.Context(), files[0], o)
			})
		},
	}
	cmd.Flags().IntVar(&o.MaxDistance, "max-distance", 0, "distance from which on all share the last bucket")
	cmd.Flags().IntVar(&o.Buckets, "buckets", 0, "number of buckets")
	cmd.Flags().StringVar(&window, "window", "", "height and width of the window in patches, HxW")
	cmd.Flags().StringVar(&o.Method, "method", "", "how the biases of a window are resized: "+strings.Join(schemes.WindowMethods, ", "))
	takes(cmd, "method", schemes.WindowMethods...)
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}
