// Package schema holds the JSON Schemas (draft 2020-12) of what modelpatch prints for
// machines, and of its policy file. Those of reports are made from the Go types of package
// report by a test, which holds real output against them.
package schema

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names are the names of the schemas: inspect, plan, verify, check, error, patch, policy …
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can be read
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(out)
	return out
}

// Text is the schema of that name; false where there is none.
func Text(name string) ([]byte, bool) {
	b, err := files.ReadFile(name + ".json")
	return b, err == nil
}
