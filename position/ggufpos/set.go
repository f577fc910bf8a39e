package ggufpos

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/report"
)

// SetKeys stores position keys in the types that llama.cpp reads. The error is a *position.Refusal where the engine does not read a key in this
// architecture, and a *position.UsageError for values that are none.
func (m *model) SetKeys(o position.SetOptions) (said []string, err error) {
	if m.Arch == nil || !m.HasModelKeys() {
		return nil, &position.Refusal{Why: "which keys an engine reads is known by the architecture, and this file's is not known", Remedies: []report.Remedy{site.AssumeLike}}
	}
	if err := m.CheckEditable(); err != nil {
		return nil, err
	}
	keys := slices.Clone(o.Keys)
	if o.PadSections {
		pad, err := m.paddedSections()
		if err != nil {
			return nil, err
		}
		keys = append(keys, pad)
	}
	for _, k := range keys {
		says, err := m.setKey(k)
		if err != nil {
			return nil, err
		}
		said = append(said, says)
	}
	return said, nil
}

// setKey stores one key, and says how its value changes.
func (m *model) setKey(k position.KeyValue) (says string, err error) {
	suffix := strings.TrimPrefix(k.Key, m.Name+".")
	key := m.Key(suffix)
	switch {
	case !arch.Settable(suffix):
		var all []string
		for _, k := range arch.KeyTypes {
			if arch.Settable(k.Suffix) {
				all = append(all, k.Suffix)
			}
		}
		all = append(all, arch.KeySections)
		return "", &position.UsageError{What: fmt.Sprintf("%s is no key of positions", report.Printable(k.Key)), Hint: spelling.Hint(suffix, all, "keys of positions are "+strings.Join(all, ", "))}
	case arch.FixedRope(m.Family()) != "" && suffix != arch.KeyContext:
		return "", &position.Refusal{Why: arch.FixedRope(m.Family()), Instead: "only the stated length can change"}
	case !m.Arch.Uses(suffix):
		return "", &position.Refusal{Why: fmt.Sprintf("llama.cpp's %s does not read %s", m.Family(), key), Instead: "inspect says which keys its encodings come from"}
	}
	value, err := keyValue(suffix, k.Value)
	if err != nil {
		return "", &position.UsageError{What: fmt.Sprintf("%s=%s: %v", key, report.Printable(k.Value), err)}
	}
	was := "not in the file"
	if p := m.Pair(suffix); p != nil {
		was = fmt.Sprint(valueOf(p))
	}
	says = fmt.Sprintf("%s %s → %s", key, was, strings.ReplaceAll(k.Value, ",", " "))
	if suffix == arch.KeyContext {
		old, _ := m.Count(suffix)
		n, _ := strconv.Atoi(k.Value)
		return says, m.SetLength(old, n)
	}
	m.Edit.Set(key, value, "position key")
	return says, nil
}

// keyValue reads a value in the type that llama.cpp reads of a key.
func keyValue(suffix, text string) (v gguf.Value, err error) {
	if suffix == arch.KeySections {
		return sections(strings.Split(text, ","))
	}
	kind, _ := arch.TypeOf(suffix)
	switch kind {
	case gguf.TypeUint32:
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n == 0 {
			return v, fmt.Errorf("it must be a whole number from 1 to %d", math.MaxInt32)
		}
		return gguf.Uint32(uint32(n)), nil
	case gguf.TypeFloat32:
		x, err := strconv.ParseFloat(text, 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			return v, fmt.Errorf("it must be a number, 0 or above and at most %.3g", math.MaxFloat32)
		}
		return gguf.Float32(float32(x)), nil
	case gguf.TypeBool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return v, fmt.Errorf("it must be true or false")
		}
		return gguf.Bool(b), nil
	}
	if !slices.Contains(arch.ScalingTypes, text) {
		return v, fmt.Errorf("llama.cpp knows %s and aborts on any other word", strings.Join(arch.ScalingTypes, ", "))
	}
	return gguf.String(text), nil
}

// sections reads the numbers of pairs of each section.
func sections(words []string) (v gguf.Value, err error) {
	var list []int32
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 32)
		if err != nil || n < 0 || n > 1<<16 {
			return v, fmt.Errorf("it must be %d numbers of pairs with commas between", arch.Sections)
		}
		list = append(list, int32(n))
	}
	if len(list) != arch.Sections {
		return v, fmt.Errorf("it has %d numbers, and engines want %d", len(list), arch.Sections)
	}
	return gguf.Int32s(list...), nil
}

// paddedSections are the file's sections with zeros behind them.
func (m *model) paddedSections() (position.KeyValue, error) {
	values := m.Numbers(arch.KeySections)
	if len(values) == 0 || len(values) >= arch.Sections {
		return position.KeyValue{}, &position.Refusal{Why: fmt.Sprintf("%s has %d numbers: there is nothing to pad", m.Key(arch.KeySections), len(values))}
	}
	words := slices.Repeat([]string{"0"}, arch.Sections)
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return position.KeyValue{Key: arch.KeySections, Value: strings.Join(words, ",")}, nil
}
