package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch/artifact/schema"
	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/position"
)

func newSchema(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a report or of the policy file",
		Long: `schema prints the JSON Schema (draft 2020-12) of what --json prints, or of check's
policy file: ` + strings.Join(schema.Names(), ", ") + `. Without a name it lists them.`,
		Example: `  modelpatch schema inspect
  modelpatch schema policy > modelpatch.schema.json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: schema.Names(),
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				c.printf("%s\n", strings.Join(schema.Names(), "\n"))
				return nil
			}
			printed, ok := schema.Text(names[0])
			if !ok {
				return &position.UsageError{What: fmt.Sprintf("no schema is called %q", text(names[0])), Hint: spelling.Words(names[0], schema.Names())}
			}
			c.printf("%s", printed)
			return nil
		},
	}
}
