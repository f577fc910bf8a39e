package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

func newExtend(c *console) *cobra.Command {
	var o modelpatch.ExtendOptions
	var d destination
	var length int64
	cmd := &cobra.Command{
		Use:   "extend --len N FILE -o NEW",
		Short: "Make a model count to another length",
		Long: fmt.Sprintf(`extend makes a model count to N positions.

Learned tables grow: old rows stay as they are, new rows are composed of them.
Sinusoids and RoPE caches go on by their own formula. RoPE that an engine
computes from keys (GGUF) is scaled, by YaRN unless told otherwise.

--method, for tables: %s
          for RoPE:   %s
interpolate and stretch move old rows: outputs change at every length.

%s`, strings.Join(schemes.GrowMethods, ", "), strings.Join(position.RopeMethods, ", "), exitCodes),
		Example: `  modelpatch extend --len 1024 bert.onnx -o bert-1024.onnx
  modelpatch extend --len 32768 llama.gguf -o llama-32k.gguf
  modelpatch extend --len 8192 --method linear --dry-run llama.gguf`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if length > position.MaxLength || length < 0 {
				length = 0 // refused with the limits
			}
			o.Length = int(length)
			r, err := modelpatch.Extend(cmd.Context(), files[0], o, modelpatch.OpenOptions{}, d.write)
			return d.finish(c, files[0], r, err)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&length, "len", 0, "the new length in positions")
	f.StringVar(&o.Method, "method", "", "how, see above")
	f.IntVar(&o.OriginalLength, "original-length", 0, "length that the model was trained with, where the file does not tell")
	d.addFlags(cmd)
	cobra.CheckErr(cmd.MarkFlagRequired("len"))
	return cmd
}
