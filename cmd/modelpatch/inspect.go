package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newInspect(c *console) *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "inspect FILE…",
		Short: "Say which position encodings a model has, and how far they reach",
		Long: `inspect says which position encodings a model has, with their parameters, how
far they reach, where they are in the file, and what is wrong with it.

With --json it prints one object a file and line (schema modelpatch.inspect/1).
Every file is tried; the greatest of their exit codes is returned.

` + exitCodes,
		Example: `  modelpatch inspect model.gguf
  modelpatch inspect --json *.onnx | jq .length`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			worst := 0
			for i, path := range files {
				if slices.Contains(files[:i], path) {
					continue
				}
				r, err := modelpatch.Inspect(path, modelpatch.OpenOptions{})
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
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also say on what the claims rest, and every place")
	return cmd
}
