package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
)

func newBake(c *console) *cobra.Command {
	var o modelpatch.BakeOptions
	var d destination
	cmd := &cobra.Command{
		Use:   "bake [--len N] FILE -o NEW",
		Short: "Store what the graph computes for each position as tables of constants",
		Long: `bake puts tables of N positions in the place of sines and cosines that an ONNX
graph computes when it runs, for engines and quantisers that have no kernels for
them. Layers share the tables; what nothing reads any more goes. Outputs stay as
they are up to N positions, and beyond them the model fails to run. Tables go
where the model has its constants: into the data file, if it has one.

A GGUF file has no graph. There bake puts a scaling of RoPE that is in keys into
the tensor rope_freqs.weight, where llama.cpp takes that for the architecture.`,
		Example: `  modelpatch bake --len 4096 model.onnx -o baked.onnx`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				o.Open, o.Write = d.open, d.write
				return modelpatch.Bake(cmd.Context(), files[0], o)
			})
		},
	}
	cmd.Flags().IntVar(&o.Length, "len", 0, "positions that the tables hold")
	cmd.Flags().StringVar(&o.Dtype, "dtype", "", "element type of the tables, where the graph casts to it at once: "+strings.Join(position.TableTypes, ", "))
	takes(cmd, "dtype", position.TableTypes...)
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}

func newUnbake(c *console) *cobra.Command {
	var d destination
	cmd := &cobra.Command{
		Use:   "unbake FILE -o NEW",
		Short: "Have the graph compute what tables hold, where a formula gives their numbers",
		Long: `unbake puts the formula in the place of tables of cosines and sines that it
explains. An ONNX graph then computes them when it runs, for any length. Trained
tables follow no formula, and operators that demand tables keep them. A GGUF
file gets the keys of the scaling that explains its divisors of frequencies.`,
		Example: `  modelpatch unbake model.onnx -o free.onnx`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				return modelpatch.Unbake(cmd.Context(), files[0], modelpatch.UnbakeOptions{Open: d.open, Write: d.write})
			})
		},
	}
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}
