package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// optionWords are how sentences of the library name options of writing.
var optionWords = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("force replaces", "--force replaces", "backup also keeps", "--backup also keeps", "(option len)", "(--len)",
		"it is changed where sidecars are asked for", "--sidecars changes it", ", where sidecars are asked for", " with --sidecars")
})

// advice is what an error advises, in lines.
func advice(err error) []string {
	out, remedies := modelpatch.Advice(err)
	for i := range out {
		out[i] = optionWords().Replace(out[i])
	}
	for _, r := range remedies {
		out = append(out, r.CommandLine())
	}
	return out
}

// pairing names a layout of rotated pairs as engines do.
func pairing(layout string) string {
	switch layout {
	case "half":
		return "NeoX pairing (half)"
	case "interleaved":
		return "GPT-J pairing (interleaved)"
	}
	return layout
}

// classTokens says how many rows stand before those of the patches.
func classTokens(n int) string {
	if n == 1 {
		return "1 class token"
	}
	return fmt.Sprintf("%d tokens before the patches", n)
}

// plural is a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bytesText is a size in decimal units.
func bytesText(n int64) string { return report.Size(n) }
