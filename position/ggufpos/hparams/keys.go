package hparams

import (
	"math"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
)

// Key is a key with the architecture's prefix, as the file has it.
func (m *Model) Key(suffix string) string { return m.Name + "." + suffix }

// SuffixOf returns what follows the architecture's prefix in a key. It makes no
// string of the two: names and keys of a hostile file are many and long.
func (m *Model) SuffixOf(key string) (suffix string, ok bool) {
	rest, ok := strings.CutPrefix(key, m.Name)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(rest, ".")
}

// Pair returns the pair of a key of this architecture, or nil.
func (m *Model) Pair(suffix string) *gguf.Pair { return m.File.Find(m.Key(suffix)) }

// Count returns a key's value as a number of things: any integer type, at most
// 2³¹−1, because engines and this program count positions in 31 bits.
func (m *Model) Count(suffix string) (int, bool) {
	n, ok := m.Pair(suffix).Uint()
	if !ok || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

// Real returns a key's value as a number, of whatever numeric type; false where
// there is none.
func (m *Model) Real(suffix string) (float64, bool) { return m.Pair(suffix).Float() }

// RealOr returns a key's value, or what an engine takes without it.
func (m *Model) RealOr(suffix string, absent float64) float64 {
	if v, ok := m.Real(suffix); ok {
		return v
	}
	return absent
}

// Text returns a key's string; false where there is none.
func (m *Model) Text(suffix string) (string, bool) { return m.File.String(m.Key(suffix)) }

// PerLayer returns a value that is either one for all layers or an array, then by
// layer. 0 and nil where there is neither.
func (m *Model) PerLayer(suffix string) (all int, list []float64) {
	if n, ok := m.Count(suffix); ok {
		return n, nil
	}
	return 0, m.Numbers(suffix)
}

// Numbers returns a key's array of numbers, nil where there is none. It is read
// once; callers must not change it.
func (m *Model) Numbers(suffix string) []float64 {
	if values, ok := m.arrays[suffix]; ok {
		return values
	}
	values, _ := m.File.Numbers(m.Key(suffix))
	if m.arrays == nil {
		m.arrays = map[string][]float64{}
	}
	m.arrays[suffix] = values
	return values
}
