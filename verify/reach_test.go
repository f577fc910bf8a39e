package verify

import (
	"testing"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// encoded is a site of which nothing but its encoding is asked.
type encoded struct {
	position.Site
	e position.Encoding
}

// Encoding returns e.
func (s encoded) Encoding() position.Encoding { return s.e }

// TestReach tells tables of distances that reach as far as before, or farther, from others: of files of one length as far
// as that shows.
func TestReach(t *testing.T) {
	table := func(kind string, rows, most, positions int) position.Site {
		return encoded{e: position.Encoding{Scheme: schemes.Other{Kind: kind, Rows: rows, MaxDistance: most}, Capacity: positions}}
	}
	relative, disentangled := report.SchemeRelativeTable, report.SchemeDisentangled
	for _, c := range []struct {
		name string
		a, b position.Site
		want bool
	}{
		{"farther", table(relative, 17, 8, 0), table(relative, 33, 16, 0), true},
		{"nearer", table(relative, 17, 8, 0), table(relative, 9, 4, 0), false},
		{"no clip seen before", table(relative, 127, 0, 64), table(relative, 127, 63, 96), true},
		{"no clip seen after", table(relative, 17, 8, 64), table(relative, 17, 0, 8), true},
		{"fewer positions", table(relative, 127, 0, 64), table(relative, 95, 0, 48), true},
		{"nearer than the positions", table(relative, 127, 0, 64), table(relative, 17, 8, 64), false},
		{"another clip of as many rows", table(relative, 17, 8, 64), table(relative, 17, 12, 64), false},
		{"more rows of DeBERTa's", table(disentangled, 128, 64, 64), table(disentangled, 192, 96, 96), true},
		{"another kind", table(relative, 17, 8, 0), table(disentangled, 33, 16, 0), false},
	} {
		if got := (pair{before: c.a, after: c.b}).reaches(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
