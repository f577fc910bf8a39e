package ggufpos

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// oddities passes on what is unusual about the container.
func (m *model) oddities() {
	for _, o := range m.file.Oddities() {
		level := report.LevelWarning
		if o.Refused {
			level = report.LevelError
		}
		w := &report.Where{Key: report.Name(o.Key), Tensor: report.Name(o.Tensor)}
		if o.At > 0 {
			w.Range = &[2]int64{o.At, o.At}
		}
		m.addFinding(o.Rule, level, o.Says, "", w)
	}
}

// check adds what is wrong or surprising about the position keys.
func (m *model) check() {
	if m.kind != report.KindModel && m.kind != report.KindVocabulary {
		return
	}
	m.checkTypes()
	m.checkLength()
	m.checkHeads()
	if m.arch == nil {
		return
	}
	m.checkIgnored()
	m.checkRequired()
	m.checkTable()
	if m.arch.Scheme == "rope" {
		m.checkScaling()
		m.checkDims()
		m.checkFactorTensors()
		m.checkSections()
	}
}

// whereKey is the place of a key's value.
func (m *model) whereKey(suffix string) *report.Where {
	w := &report.Where{Key: report.Name(m.key(suffix))}
	if p := m.pair(suffix); p != nil {
		w.Range = &[2]int64{p.ValueAt, p.End}
	}
	return w
}

func (m *model) warn(rule, suffix, message, hint string, remedies ...report.Remedy) {
	m.addFinding(rule, report.LevelWarning, message, hint, m.whereKey(suffix), remedies...)
}

func (m *model) fault(rule, suffix, message, hint string, remedies ...report.Remedy) {
	m.addFinding(rule, report.LevelError, message, hint, m.whereKey(suffix), remedies...)
}

// checkTypes finds values of types that engines refuse.
func (m *model) checkTypes() {
	for _, suffix := range sortedKeyTypes {
		want := keyTypes[suffix]
		p := m.pair(suffix)
		if p == nil || p.Type == want || p.Type == gguf.TypeArray && (suffix == keyDims) {
			continue
		}
		says := fmt.Sprintf("%s has a wrong type: %s, where engines want %s", m.key(suffix), typeName(p), want)
		m.fault("gguf-key-type", suffix, says, "engines refuse the file; any change by extend, rope or alibi stores a number in the right type")
	}
}

var sortedKeyTypes = func() []string {
	var out []string
	for k := range keyTypes {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}()

func typeName(p *gguf.Pair) string {
	if p.Type == gguf.TypeArray {
		return "array of " + p.Elem.String()
	}
	return p.Type.String()
}

// checkLength looks at context_length.
func (m *model) checkLength() {
	p := m.pair(keyContext)
	n, ok := p.Uint()
	switch {
	case p == nil && m.arch != nil:
		m.fault("gguf-context-missing", keyContext, m.key(keyContext)+" is missing; engines refuse the file", "", report.Do("extend", "states a length", "len", "N", "method", "none"))
	case p != nil && !ok:
		m.fault("gguf-context-value", keyContext, m.key(keyContext)+" is no number of positions", "convert the model again")
	case p != nil && (n == 0 || n > math.MaxInt32):
		m.warn("gguf-context-value", keyContext, fmt.Sprintf("%s is %d", m.key(keyContext), n), "", report.Do("extend", "states another length", "len", "N", "method", "none"))
	}
}

// checkHeads looks at the numbers of heads and layers.
func (m *model) checkHeads() {
	if m.arch == nil || m.arch.Scheme == "none" {
		return
	}
	width, _ := m.count(keyEmbedding)
	p := m.pair(keyHeads)
	n, list := m.perLayer(keyHeads)
	switch {
	case p == nil:
		m.fault("gguf-head-count", keyHeads, m.key(keyHeads)+" is missing", "the size of a head cannot be known")
	case list == nil && (n <= 0 || n > maxHeads):
		m.fault("gguf-head-count", keyHeads, fmt.Sprintf("%s is %d", m.key(keyHeads), n), "the size of a head cannot be known; edits are refused")
	case list == nil && m.pair(keyKeyLength) == nil && width%n != 0:
		m.warn("gguf-head-count", keyHeads, fmt.Sprintf("%s is %d, which does not divide %s = %d", m.key(keyHeads), n, m.key(keyEmbedding), width), "")
	}
	if n, ok := m.pair(keyBlocks).Uint(); ok && n > maxLayers {
		m.fault("gguf-block-count", keyBlocks, fmt.Sprintf("%s is %d; engines take 512 layers", m.key(keyBlocks), n), "")
	}
}

// checkIgnored finds position keys without effect in this architecture.
func (m *model) checkIgnored() {
	for _, suffix := range positionKeys {
		if m.pair(suffix) == nil || m.arch.reads(suffix) || m.harmless(suffix) {
			continue
		}
		says := fmt.Sprintf("%s is not used by %s", m.key(suffix), m.name)
		if suffix == keyWindow {
			says += ": every layer attends to everything, unlike a source model with a window"
		}
		m.warn("gguf-key-ignored", suffix, says, "it has no effect in llama.cpp")
	}
}

// positionKeys are those whose presence suggests an effect.
var positionKeys = []string{
	keyBase, keyBaseSWA, keyType, keyFactor, keyScaleLinear, keyOriginal, keyAttnFactor, keyAlpha,
	keyBetaFast, keyBetaSlow, keyExtFactor, keyYarnAttn, keyLogMul, keySections, keyMaxBias, keyWindow,
}

// harmless reports whether a key without effect says what holds anyway.
func (m *model) harmless(suffix string) bool {
	v, number := m.real(suffix)
	switch suffix {
	case keyBetaFast:
		return number && v == 32
	case keyBetaSlow, keyExtFactor, keyYarnAttn, keyAttnFactor:
		return number && v == 1
	case keyFactor, keyScaleLinear:
		return number && (v == 1 || v == 0)
	case keyWindow, keyAlpha, keyLogMul:
		return number && v == 0
	case keyType:
		s, _ := m.text(suffix)
		return s == typeNone
	case keyOriginal:
		return m.arch.Scheme == "rope"
	case keyMaxBias:
		return m.arch.Scheme == "alibi" && v == hardCodedBias
	}
	return false
}

// checkRequired finds keys without which loading fails.
func (m *model) checkRequired() {
	for _, suffix := range m.arch.Required {
		if m.pair(suffix) == nil {
			m.fault("gguf-key-missing", suffix, m.key(suffix)+" is missing; llama.cpp's "+m.name+" refuses the file", "")
		}
	}
	if m.arch.Scheme == "unimplemented" {
		m.addFinding("gguf-architecture-unknown", report.LevelError, "llama.cpp knows the architecture "+m.name+" by name and cannot run it", "", nil)
	}
}

// scannedTable is the largest table that inspect reads to look for broken
// values.
const scannedTable = 16 << 20

// checkTable compares the learned table with the stated length.
func (m *model) checkTable() {
	for _, s := range m.sites {
		t, ok := s.(*table)
		if !ok || !t.text {
			continue
		}
		w := m.whereTensor(t.tensor)
		if n, ok := m.count(keyContext); ok && n != t.Len() {
			m.addFinding("gguf-rows-differ-from-length", report.LevelError,
				fmt.Sprintf("%s is %d, but %s has %d rows; engines refuse the file", m.key(keyContext), n, nameTable, t.Len()), "set the key to the number of rows", &w)
		}
		if n, ok := m.count(keyEmbedding); ok && int64(n) != t.tensor.Width() {
			m.addFinding("gguf-table-width", report.LevelError, fmt.Sprintf("%s is %d, but rows of %s have %d elements; engines refuse the file", m.key(keyEmbedding), n, nameTable, t.tensor.Width()), "convert the model again", &w)
		}
		if t.tensor.Size <= scannedTable && t.tensor.Readable() {
			if row, column, value, err := t.broken(); err == nil && row >= 0 {
				m.addFinding("gguf-table-not-finite", report.LevelError, fmt.Sprintf("%s: row %d, column %d is %v", nameTable, row, column, value), "the table is damaged: convert the model again", &w)
			}
		}
	}
}

// checkScaling looks at the keys of scaling.
func (m *model) checkScaling() {
	kind, stated := m.text(keyType)
	s, hasFactor := m.real(keyFactor)
	switch known := slices.Contains(engineTypes, kind); {
	case stated && !known:
		m.fault("gguf-scaling-type-unknown", keyType, fmt.Sprintf("unknown rope.scaling.type %q; llama.cpp aborts on it", report.Printable(clipped(kind))), "", report.Do("rope", "writes one that it knows", "scaling", "none|linear|yarn"))
	case kind == typeNone && hasFactor && s != 1 && s != 0 && !m.ignores(keyFactor) && scaledWithNone[m.name] && m.slidesAnywhere():
		m.warn("gguf-factor-with-none", keyFactor, fmt.Sprintf("rope.scaling.type is none, and the sliding layers of %s are divided by the factor %g all the same", m.name, s), "")
	case kind == typeNone && hasFactor && s != 1 && s != 0 && !m.ignores(keyFactor):
		m.warn("gguf-factor-with-none", keyFactor, fmt.Sprintf("rope.scaling.type is none, so the factor %g is not used", s), "")
	case !stated && hasFactor && s != 1 && s != 0 && !m.ignores(keyFactor):
		m.addFinding("gguf-factor-without-type", report.LevelNote, fmt.Sprintf("a factor of %g without rope.scaling.type counts as linear", s), "", m.whereKey(keyFactor))
	}
	if n, ok := m.count(keyOriginal); kind == typeYaRN && (!ok || n == 0) && m.arch.reads(keyOriginal) {
		m.warn("gguf-original-length-missing", keyOriginal, "YaRN without original_context_length: context_length is taken, and raising it would change YaRN", "extend writes it down")
	} else if c, stated := m.count(keyContext); ok && stated && n > c {
		m.warn("gguf-original-length-value", keyOriginal, fmt.Sprintf("original_context_length %d is more than context_length %d", n, c), "")
	}
	m.checkNumbers()
}

func clipped(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

// checkNumbers finds bases and factors that no formula takes.
func (m *model) checkNumbers() {
	for _, suffix := range []string{keyBase, keyBaseSWA} {
		if v, ok := m.real(suffix); ok && m.arch.reads(suffix) && v == 1 {
			m.warn("gguf-base-value", suffix, fmt.Sprintf("%s is 1: all pairs turn alike", m.key(suffix)), "", report.Do("rope", "sets another", "base", "B"))
		} else if ok && m.arch.reads(suffix) && (!(v > 1) || math.IsInf(v, 0)) {
			m.fault("gguf-base-value", suffix, fmt.Sprintf("%s is %v; the output would be NaN or all frequencies alike", m.key(suffix), v), "", report.Do("rope", "sets another", "base", "B"))
		}
	}
	for _, suffix := range []string{keyFactor, keyScaleLinear} {
		if v, ok := m.real(suffix); ok && m.arch.reads(suffix) && (!(v >= 0) || math.IsInf(v, 0)) {
			m.fault("gguf-factor-value", suffix, fmt.Sprintf("%s is %v", m.key(suffix), v), "", report.Do("rope", "sets another", "scaling", "TYPE", "factor", "S"))
		}
	}
}

// checkDims looks at the number of turned elements.
func (m *model) checkDims() {
	n, ok := m.count(keyDims)
	head := m.headDim(false)
	switch {
	case !ok || m.ignores(keyDims):
	case n == 0 || n%2 != 0 || head > 0 && n > head && m.name != "step35":
		m.fault("gguf-dimension-count", keyDims, fmt.Sprintf("%s is %d with heads of %d", m.key(keyDims), n, head), "it must be even, above 0 and at most the head size")
	case m.arch.Dims == "head" && head > 0 && n != head:
		m.fault("gguf-dimension-count", keyDims, fmt.Sprintf("%s %d differs from the head size %d; llama.cpp's %s refuses that", m.key(keyDims), n, head, m.name), "convert the model again")
	}
}

// checkFactorTensors looks at tensors of divisors.
func (m *model) checkFactorTensors() {
	for _, name := range []string{nameFreqs, nameLong, nameShort} {
		t := m.file.Tensor(name)
		if t == nil {
			continue
		}
		w := m.whereTensor(t)
		use := m.arch.LongRoPE
		if name == nameFreqs {
			use = m.arch.Freqs
		}
		switch {
		case use == "":
			m.addFinding("gguf-factor-tensor", report.LevelError, fmt.Sprintf("llama.cpp's %s does not take the tensor %s and refuses the file", m.name, name), "", &w)
		case use == "unused":
			m.addFinding("gguf-factor-tensor", report.LevelWarning, fmt.Sprintf("llama.cpp's %s accepts the tensor %s and does not use it", m.name, name), "", &w)
		case !m.usedTensor(name):
			m.addFinding("gguf-factor-tensor", report.LevelError, fmt.Sprintf("%s of shape %v and type %s is not used: engines want F32, one number a pair%s", name, t.Shape, t.Type, m.onlyTyped(name)), "", &w)
		case t.Type != gguf.F32:
			m.addFinding("gguf-factor-tensor", report.LevelError, fmt.Sprintf("%s has type %s; engines want F32", name, t.Type), "", &w)
		case m.brokenDivisors(t):
			m.addFinding("gguf-factor-tensor", report.LevelError, name+" holds a divisor that is not above 0: what the engine computes is not finite", "convert the model again", &w)
		}
	}
	if a, b := m.file.Tensor(nameLong), m.file.Tensor(nameShort); m.arch.LongRoPE != "" && m.arch.LongRoPE != "unused" && (a == nil) != (b == nil) {
		have, lack := nameLong, nameShort
		if a == nil {
			have, lack = nameShort, nameLong
		}
		w := m.whereTensor(m.file.Tensor(have))
		m.addFinding("gguf-factor-pair", report.LevelWarning, fmt.Sprintf("%s is there without %s: one side of the original length is not scaled", have, lack), "convert the model again", &w)
	}
	for _, s := range m.sites {
		if r, ok := s.(*rope); ok && r.engine.freqs != nil && !allOnes(r.engine.freqs) && !r.engine.masked() && r.engine.factor != 1 {
			m.warn("gguf-scaling-twice", keyFactor, nameFreqs+" and the scaling keys multiply", "", report.Do("rope", "replaces both", "scaling", "TYPE", "factor", "S"))
		}
	}
}

// brokenDivisors reports whether a factor tensor holds a number that is not
// above 0.
func (m *model) brokenDivisors(t *gguf.Tensor) bool {
	values := make([]float64, t.Width())
	return m.file.ReadRows(t, 0, 1, values) == nil && slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) })
}

// checkSections looks at M-RoPE's sections.
func (m *model) checkSections() {
	p := m.pair(keySections)
	if p == nil || m.arch.Sections == "" {
		return
	}
	values := m.numbers(keySections)
	sum := 0.0
	for _, v := range values {
		sum += math.Max(v, 0)
	}
	switch {
	case len(values) != 4:
		m.fault("gguf-sections", keySections, fmt.Sprintf("%s has %d numbers; engines want 4 and refuse the file", m.key(keySections), len(values)), "convert the model again")
	case sum == 0 && m.arch.Sections != "optional":
		m.fault("gguf-sections", keySections, m.key(keySections)+" are all 0; the engine aborts at the first token", "convert the model again")
	}
}

// usedTensor reports whether a site reads a factor tensor.
func (m *model) usedTensor(name string) bool {
	return slices.ContainsFunc(m.sites, func(s position.Site) bool {
		r, ok := s.(*rope)
		return ok && slices.Contains(r.engine.tensors, name)
	})
}

func (m *model) onlyTyped(name string) string {
	if m.arch.LongRoPE == "typed" && strings.Contains(name, "factors") {
		return ", and rope.scaling.type longrope"
	}
	return ""
}
