package policy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDocumentation: every example is a policy, and every field has one.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if _, err := Parse("policy.yaml", []byte(m[1]), today); err != nil {
			t.Errorf("%s\n%v", m[1], err)
		}
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(m[1]), &root); err == nil {
			keysOf(&root, shown)
		}
	}
	for _, key := range slices.Concat(topKeys, entryKeys, waiverKeys, expectKeys) {
		if !shown[key] {
			t.Errorf("no example shows %q", key)
		}
	}
	for _, word := range slices.Concat(formats, scalings()) {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("%q is not told", word)
		}
	}
}

// keysOf notes the keys of all mappings of a document.
func keysOf(n *yaml.Node, into map[string]bool) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			into[c.Value] = true
		}
		keysOf(c, into)
	}
}

// TestTemplate: it is a policy that changes nothing, and so it is with all that is commented out.
func TestTemplate(t *testing.T) {
	p, err := Parse("policy.yaml", Template, today)
	if err != nil || len(p.levels)+len(p.entries)+len(p.waivers) != 0 || p.Baseline != "" {
		t.Fatal(err, p)
	}
	p, err = Parse("policy.yaml", regexp.MustCompile(`(?m)^#([a-z]| {2})`).ReplaceAll(Template, []byte("$1")), today)
	if err != nil || len(p.levels) != 2 || len(p.entries) != 2 || len(p.entries[0].expect) != 2 || len(p.waivers) != 1 || p.Baseline == "" {
		t.Fatal(err, p)
	}
}
