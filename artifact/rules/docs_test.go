package rules

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/rules.md anew")

// TestDocumentation: the page of rules is that of the table.
func TestDocumentation(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Rules of `modelpatch check`\n\nMade from the table of rules by `go test ./artifact/rules -update`; `modelpatch explain RULE` prints the same.\n" +
		"A level is that at which a rule is found; a policy file changes it ([ci.md](ci.md)).\n\n| rule | level | |\n|---|---|---|\n")
	for _, r := range List {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Levels(), r.Title)
	}
	for _, r := range List {
		fmt.Fprintf(&b, "\n## %s\n\n%s. %s %s\n\nWhat to do: %s\n", r.ID, r.Title, r.Says, r.Hurts, r.Mend)
	}
	const page = "../../docs/rules.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(page)
	if err != nil || string(have) != b.String() {
		t.Errorf("docs/rules.md is not that of the table (%v): go test ./artifact/rules -update", err)
	}
}
