package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
)

func newSet(c *console) *cobra.Command {
	var o modelpatch.SetOptions
	var d destination
	cmd := &cobra.Command{
		Use:   "set KEY=VALUE… FILE -o NEW",
		Short: "Set metadata keys of positions in a GGUF file",
		Long: `set stores metadata keys of positions (context_length, rope.*,
attention.max_alibi_bias) in the types that llama.cpp reads, with or without the
architecture's prefix. It says what each changes: a base, a scaling, a length. A
key that llama.cpp does not read in the file's architecture is refused, and so is
a value at which it would refuse the file.

--pad-sections fills up rope.dimension_sections of two or three numbers with
zeros: llama.cpp refuses another count than four.`,
		Example: `  modelpatch set rope.freq_base=1000000 model.gguf -o based.gguf
  modelpatch set rope.scaling.factor=4 rope.scaling.original_context_length=8192 \
      model.gguf -o scaled.gguf
  modelpatch set --pad-sections model.gguf --in-place`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return d.run(c, args[last], func() (modelpatch.Result, error) {
				for _, arg := range args[:last] {
					key, value, ok := strings.Cut(arg, "=")
					if !ok || key == "" {
						return modelpatch.Result{}, &position.UsageError{What: text(arg) + " is not KEY=VALUE", Hint: "the file comes last"}
					}
					o.Keys = append(o.Keys, position.KeyValue{Key: key, Value: value})
				}
				o.Open, o.Write = d.open, d.write
				return modelpatch.Set(cmd.Context(), args[last], o)
			})
		},
	}
	cmd.Flags().BoolVar(&o.PadSections, "pad-sections", false, "fill up M-RoPE's sections with zeros")
	group(cmd, flagsWhat, "pad-sections")
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}
