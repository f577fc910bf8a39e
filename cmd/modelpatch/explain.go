package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/position"
)

// explained is a rule as JSON.
type explained struct {
	Schema string `json:"schema"`
	Rule   string `json:"rule"`
	Level  string `json:"level"`
	Title  string `json:"title"`
	Says   string `json:"says"`
	Hurts  string `json:"hurts"`
	Mend   string `json:"mend"`
}

const schemaRule = "modelpatch.rule/1"

func newExplain(c *console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [RULE]…",
		Short: "Say what a rule of check means, why it hurts and what mends it",
		Long: `explain lists the rules of check and inspect, or says of one what it means, what
happens for it and in which engine, and what mends it.`,
		Example: `  modelpatch explain
  modelpatch explain length-silently-wrong`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range rules.List {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, ids []string) error {
			asked := make([]rules.Rule, 0, len(ids))
			for _, id := range ids {
				r, ok := rules.Find(id)
				if !ok {
					return &position.UsageError{What: fmt.Sprintf("no rule is called %q", text(id)), Hint: rules.Hint(id)}
				}
				asked = append(asked, r)
			}
			switch {
			case asJSON && len(ids) == 0:
				asked = rules.List
				fallthrough
			case asJSON:
				for _, r := range asked {
					c.json(explained{schemaRule, r.ID, r.Level, r.Title, r.Says, r.Hurts, r.Mend})
				}
			case len(ids) == 0:
				c.listRules()
			default:
				for i, r := range asked {
					if i > 0 {
						c.printf("\n")
					}
					c.explain(r)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a rule and line")
	return cmd
}

// listRules prints a line a rule.
func (c *console) listRules() {
	widest := 0
	for _, r := range rules.List {
		widest = max(widest, len(r.ID))
	}
	for _, r := range rules.List {
		c.printf("%-*s  %-7s  %s\n", widest, r.ID, r.Level, r.Title)
	}
}

// explain prints one rule.
func (c *console) explain(r rules.Rule) {
	c.headline(r.ID, r.Title+" ("+r.Levels()+")")
	c.field("means", r.Says)
	c.field("hurts", r.Hurts)
	c.field("mend", r.Mend)
}
