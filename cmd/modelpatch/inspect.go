package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newInspect(c *console) *cobra.Command {
	var asJSON, verbose bool
	var o modelpatch.OpenOptions
	cmd := &cobra.Command{
		Use:   "inspect FILE|FOLDER|-…",
		Short: "Say which position encodings a model has, and how far they reach",
		Long: `inspect says which position encodings a model has, with their parameters, how
far they reach, where they are in the file, and what is wrong with it.

With --json it prints one object a file and line (schema modelpatch.inspect/1).
A folder means every model below it, - standard input; .zst and .gz are unpacked
while they are read. Every file is tried; the greatest of their exit codes is
returned.

` + exitCodes,
		Example: `  modelpatch inspect model.gguf
  modelpatch inspect --json *.onnx | jq .length`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			worst := 0
			files, err := expand(files)
			if err != nil {
				return err
			}
			for _, path := range files {
				if c.out.err != nil {
					break // nobody would read the rest
				}
				r, err := modelpatch.Inspect(path, o)
				switch {
				case err != nil:
					c.fail(path, err, asJSON)
					worst = max(worst, modelpatch.ExitCode(err))
				case asJSON:
					c.json(r)
				default:
					c.inspect(r, verbose)
				}
			}
			if worst != 0 {
				return &codedError{worst}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a file and line")
	cmd.Flags().StringVar(&o.ExternalRoot, "external-root", "", "a folder in which external data of ONNX models may lie as well")
	cmd.Flags().Int64Var(&o.MaxUnpacked, "max-unpacked", 0, "bytes that a compressed input may come to (default 64 GiB)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also say on what the claims rest, and every place")
	return cmd
}
