package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/patch"
)

func newRecover(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "recover FILE…",
		Short: "Finish or undo an edit in place that was cut short",
		Long: `recover looks for the journal of an edit in place that a crash or a power cut
interrupted. A complete edit is kept; of any other, the old bytes come back. A
file that somebody else has changed since is left as it is, and refused.
Temporary files of killed runs are removed.`,
		Example: `  modelpatch recover model.gguf`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			worst := 0
			for _, path := range files {
				did, err := modelpatch.Recover(path)
				if err != nil {
					c.fail(path, err, false)
					worst = max(worst, modelpatch.ExitCode(err))
					continue
				}
				c.changed = c.changed || did != patch.RecoveredNothing
				c.printf("%s: %s\n", text(path), did)
			}
			if worst != 0 {
				return &codedError{worst}
			}
			return nil
		},
	}
}
