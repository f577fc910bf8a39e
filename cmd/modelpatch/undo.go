package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newUndo(c *console) *cobra.Command {
	d := destination{write: modelpatch.WriteOptions{InPlace: true}}
	cmd := &cobra.Command{
		Use:   "undo FILE",
		Short: "Take the newest change in place of a model back",
		Long: `undo finds the newest undo patch (FILE.undo.mpatch, FILE.undo.2.mpatch …) that
fits the file as it is, takes that change back in place, and removes the patch.
Undo patches of shards and data files of the model are found as well. Called again,
it takes back the change before. config.json and its like get their old values back
where they followed (--sidecars).`,
		Example: `  modelpatch undo model.gguf`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				return modelpatch.Undo(cmd.Context(), files[0], modelpatch.PatchOptions{Open: d.open, Write: d.write})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&d.write.DryRun, "dry-run", "n", false, "only show what would be taken back")
	f.BoolVar(&d.write.Digest, "digest", false, "compute the SHA-256 of the file as it is then")
	f.BoolVar(&d.asJSON, "json", false, "print the plan as one JSON object")
	f.BoolVarP(&d.verbose, "verbose", "v", false, "also list the byte ranges that change")
	return cmd
}
