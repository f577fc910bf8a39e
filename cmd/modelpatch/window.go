package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newWindow(c *console) *cobra.Command {
	var o modelpatch.WindowOptions
	var d destination
	cmd := &cobra.Command{
		Use:   "window [--len N] [--sinks K] FILE -o NEW",
		Short: "Let attentions see the nearest N positions alone",
		Long: `window lets every query see the N keys up to its own, and with --sinks the first K
of all beside them. No distance between what attends then grows with the text, so that
a model with RoPE, a relative bias or ALiBi runs at any length as it does at N: without
training, no scaling of RoPE did better where it was measured (docs/measured/methods.md). What stands before the
window a token sees through the layers alone.

In ONNX, GroupQueryAttention gets local_window_size, and all other attentions a mask that
the graph computes; time and memory stay those of the whole length. In GGUF the key
attention.sliding_window is set where llama.cpp reads one for all layers that changes
nothing else. Cross-attentions are left alone.`,
		Example: `  modelpatch window --len 4096 llama.onnx -o llama-window.onnx
  modelpatch window --len 4096 --sinks 4 --verify llama.onnx -o llama-window.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				if err := explicitZero(cmd, "len"); err != nil {
					return modelpatch.Result{}, err
				}
				o.Open, o.Write = d.open, d.write
				return modelpatch.AddWindow(cmd.Context(), files[0], o)
			})
		},
	}
	cmd.Flags().IntVar(&o.Positions, "len", 0, "positions that a query sees, its own among them (the length that the model states)")
	cmd.Flags().IntVar(&o.Sinks, "sinks", 0, "first positions that every query sees beside those")
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}
