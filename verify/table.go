package verify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// tables compares the numbers that both files give to positions, and those of
// the new file with the formula that it claims.
func (c *comparison) tables() {
	if len(c.pairs) == 0 {
		c.skip(report.CheckTable, "no encoding stands in both files")
	}
	for _, p := range c.pairs {
		a, okA := p.before.(position.Rows)
		b, okB := p.after.(position.Rows)
		ra, okC := p.before.(position.Rotator)
		rb, okD := p.after.(position.Rotator)
		switch {
		case okA && okB && a.Len() > 0 && b.Len() > 0:
			c.rows(p, a, b)
		case okC && okD:
			c.rotations(p, ra, rb)
		case !p.before.Encoding().Scheme.Equal(p.after.Encoding().Scheme) && !c.countsAlike(p):
			c.changed = c.changed || !p.reaches() && (!p.rebuilt() || !p.longer())
			k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Why: fmt.Sprintf("%s: %s became %s", position.ID(p.index), p.before.Encoding().Scheme, p.after.Encoding().Scheme)}
			if c.expectOf(p.index) != report.ExpectChanged && !p.explained() && !p.longer() && !p.reaches() {
				k.Verdict, k.At = report.CheckFail, &report.At{Where: firstWhere(p.after)}
			}
			c.add(k)
		case !p.before.Encoding().Scheme.Equal(p.after.Encoding().Scheme):
			c.alike = true
			c.add(report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Why: fmt.Sprintf("%s: %s counts all distances of the new file's inputs as before", position.ID(p.index), p.before.Encoding().Scheme)})
		default:
			c.add(report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Why: fmt.Sprintf("%s: %s in both files, without a table", position.ID(p.index), p.before.Encoding().Scheme)})
		}
	}
	c.biases()
	c.slopes()
}

// longer reports whether an encoding is the same but for the positions that it
// has: rows, or the window of a table.
func (p pair) longer() bool {
	a, b := p.before.Encoding().Scheme, p.after.Encoding().Scheme
	switch a := a.(type) {
	case schemes.Learned:
		if b, ok := b.(schemes.Learned); ok {
			a.Rows = b.Rows
			return a.Equal(b)
		}
	case schemes.Sinusoid:
		if b, ok := b.(schemes.Sinusoid); ok {
			a.Rows = b.Rows
			if x, y := amplitude(p.before.Encoding(), a), amplitude(p.after.Encoding(), b); p.rebuilt() && math.Abs(x-y) <= amplitudeTolerance*math.Abs(x) {
				a.Amplitude = b.Amplitude
			}
			return schemes.InTable(a).Equal(schemes.InTable(b))
		}
	}
	return a.Equal(b)
}

// amplitudeTolerance is the relative difference of two amplitudes that are read from rows in 16 bits: one rounding.
const amplitudeTolerance = 1e-3

// amplitude is that with which sinusoids are added, where a graph multiplies the rows of its table.
func amplitude(e position.Encoding, is schemes.Sinusoid) float64 {
	return cmp.Or(e.Factor, 1) * cmp.Or(is.Amplitude, 1)
}

// reaches reports whether a table of distances is the same but for a farther reach, or, of a file of one length, as far as that
// shows. Whether near distances kept their rows, the bytes say beside the planned change, and the attention.
func (p pair) reaches() bool {
	a, okA := p.before.Encoding().Scheme.(schemes.Other)
	b, okB := p.after.Encoding().Scheme.(schemes.Other)
	if !okA || !okB || a.Kind != report.SchemeRelativeTable && a.Kind != report.SchemeDisentangled || a.Window != nil {
		return false
	}
	reach := func(o schemes.Other) int { return cmp.Or(o.MaxDistance, (o.Rows-1)/2) }
	far := reach(a)
	if n := p.after.Encoding().Capacity; n > 0 {
		far = min(far, n-1)
	}
	if a.Rows == b.Rows && a.MaxDistance > 0 && b.MaxDistance > 0 || reach(b) < far {
		return false
	}
	a.Rows, a.Buckets, a.MaxDistance = b.Rows, b.Buckets, b.MaxDistance
	return a.Equal(b)
}

// countsAlike reports whether two ways of counting have as many heads and the same bucket for each distance that the new file's inputs can have: in a
// file of one length it does not show where the farthest bucket begins.
func (c *comparison) countsAlike(p pair) bool {
	a, okA := p.before.Encoding().Scheme.(schemes.Buckets)
	b, okB := p.after.Encoding().Scheme.(schemes.Buckets)
	positions := position.Length(c.after, c.after.Describe()).Capacity
	if !okA || !okB || a.Heads != b.Heads || positions == nil || *positions > maxCounted {
		return false
	}
	for d := 1 - *positions; d < *positions; d++ {
		if a.Bucket(d) != b.Bucket(d) {
			return false
		}
	}
	return true
}

// maxCounted bounds the positions between which all distances are counted.
const maxCounted = 1 << 20

// rows compares the rows that both tables have, and checks the new ones.
func (c *comparison) rows(p pair, a, b position.Rows) {
	k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Tolerance: &bitwise}
	x, y := make([]float64, a.Dim()), make([]float64, b.Dim())
	if a.Dim() != b.Dim() {
		k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: rows of %d became rows of %d", position.ID(p.index), a.Dim(), b.Dim())
		c.add(k)
		return
	}
	var d difference
	emptied := a.Len() == b.Len()
	for i := range min(a.Len(), b.Len()) {
		if err := firstOf(a.Row(i, x), b.Row(i, y)); err != nil {
			c.add(withoutRow(k, p.index, err))
			return
		}
		for j := range x {
			emptied = emptied && y[j] == 0
			if d.look(x[j], y[j]) {
				k.At = &report.At{Position: report.Pointer(i - offsetOf(p.before.Encoding())), Where: firstWhere(p.after)}
			}
		}
	}
	k.Measure = d.measure()
	from := a.Len()
	if d.seen || d.bits {
		c.changed = true
		switch {
		case c.expectOf(p.index) == report.ExpectChanged:
			if emptied {
				k.Why = fmt.Sprintf("%s: all rows are zeros: the table is disabled", position.ID(p.index))
			}
		case p.explained():
			from = 0 // all rows are held against the new formula
			k.Why = fmt.Sprintf("%s: %s became %s", position.ID(p.index), p.before.Encoding().Scheme, p.after.Encoding().Scheme)
		default:
			k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: a row that both tables have differs", position.ID(p.index))
			if k.At == nil {
				k.At = &report.At{Where: firstWhere(p.after)}
			}
		}
	}
	c.add(k)
	scheme := p.before.Encoding().Scheme
	if from == 0 {
		scheme = p.after.Encoding().Scheme
	}
	scheme, from = onGrid(scheme, p.after.Encoding().Scheme, from)
	c.newRows(p, from, b, scheme)
}

// rowsUnread says that a table was not looked at.
const rowsUnread = "its rows are not checked"

// notRead reports whether an error says that numbers stand in a form that is not read, which is no fault of the file.
func notRead(err error) bool {
	of, ok := errors.AsType[interface {
		error
		Unread() bool
	}](err)
	return ok && of.Unread()
}

// withoutRow is a check of a table of which a row cannot be read: a fault, unless its storage is one that is not read.
func withoutRow(k report.Check, index int, err error) report.Check {
	k.Verdict, k.Why = report.CheckFail, err.Error()
	if notRead(err) {
		k.Verdict, k.Tolerance, k.Why = report.CheckSkipped, nil, fmt.Sprintf("%s: %s: %v", position.ID(index), rowsUnread, err)
	}
	return k
}

// onGrid is the formula of the old rows on the grid of the new table: there every row
// stands for another cell, so that none of them is an old one.
func onGrid(old, now schemes.Scheme, from int) (schemes.Scheme, int) {
	was, ok := old.(schemes.Sinusoid)
	is, also := now.(schemes.Sinusoid)
	if !ok || !also || was.Grid == nil || slices.Equal(was.Grid, is.Grid) {
		return old, from
	}
	was.Grid, was.Rows = is.Grid, is.Rows
	return was, 0
}

// newRows checks rows from the given one on: finite, and those of the scheme where
// it is a formula. Of a longer table that is the old file's, so that wrong new
// rows cannot bend it.
func (c *comparison) newRows(p pair, from int, b position.Rows, scheme schemes.Scheme) {
	if b.Len() <= from {
		return
	}
	k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Why: fmt.Sprintf("%s: %d new rows", position.ID(p.index), b.Len()-from)}
	var formula *schemes.SinusoidTable
	tolerance := storageTolerance(rowsStoredAs(p.after.Encoding(), b, from))
	if from == 0 {
		k.Why = fmt.Sprintf("%s: %s by its formula", position.ID(p.index), scheme)
	}
	if s, ok := scheme.(schemes.Sinusoid); ok && s.Base > 0 {
		formula = s.Table()
		k.Tolerance = &tolerance
	}
	row, want := make([]float64, b.Dim()), make([]float64, b.Dim())
	var d difference
	for i := from; i < b.Len(); i++ {
		if err := b.Row(i, row); err != nil {
			k = withoutRow(k, p.index, err)
			break
		}
		if formula != nil {
			formula.Row(i, want)
		}
		for j, v := range row {
			at := &report.At{Position: report.Pointer(i - offsetOf(p.after.Encoding())), Where: firstWhere(p.after)}
			if math.IsNaN(v) || math.IsInf(v, 0) {
				k.Verdict, k.Why, k.At = report.CheckFail, fmt.Sprintf("%s: a new row is not finite", position.ID(p.index)), at
				c.add(k)
				return
			}
			if formula != nil && d.look(v, want[j]) {
				k.At = at
				if d.abs > float64(tolerance.Value)+float64(float32Angle.Value)*float64(i) {
					k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: a new row is not the formula's", position.ID(p.index))
				}
			}
		}
	}
	if formula != nil {
		k.Measure = d.measure()
	}
	c.add(k)
}

// storageTolerance is one rounding step of a storage type around 1.
func storageTolerance(dtype string) report.Tolerance {
	switch dtype {
	case "float16":
		return halfStorage
	case "bfloat16":
		return brainStorage
	case "uint8", "int8", "q8_0":
		return report.Tolerance{Name: dtype + "-storage", Value: 2e-2}
	}
	return report.Tolerance{Name: "float32-storage", Value: 2e-7}
}

// samplePositions are positions of a prefix at which rotations are compared:
// all of a short one, and powers of two further on.
func samplePositions(length int) []int {
	var out []int
	for p := 0; p < min(length, 128); p++ {
		out = append(out, p)
	}
	for p := 128; p < length; p *= 2 {
		out = append(out, p, min(p+p/2, length-1))
	}
	if length > 128 {
		out = append(out, length-1)
	}
	return out
}

// positionsOf are the positions at which an encoding's rotation is looked at:
// every row of a table, samples of a formula.
func positionsOf(e position.Encoding, length int) []int {
	length = places(e, length)
	if e.Form != report.FormCache && e.Form != report.FormBaked {
		return samplePositions(length)
	}
	if _, turns := rotaryOf(e); turns && e.Rows > 0 {
		length = min(length, e.Rows) // of one window: the others take them again
	}
	out := make([]int, length)
	for i := range out {
		out[i] = i
	}
	return out
}

// places is how many of so many positions an encoding turns: of a grid no more than it has.
func places(e position.Encoding, length int) int {
	r, ok := rotaryOf(e)
	if !ok || r.Grid == nil {
		return length
	}
	n := 1
	for _, side := range r.Grid {
		n *= side
	}
	return min(length, n)
}

// rotations compares what both files turn by, on the old length, and the new
// file with the formula that it claims.
func (c *comparison) rotations(p pair, a, b position.Rotator) {
	ra, ok1 := rotaryOf(p.before.Encoding())
	rb, ok2 := rotaryOf(p.after.Encoding())
	id := position.ID(p.index)
	k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Tolerance: &bitwise}
	if !ok1 || !ok2 || ra.Pairs() != rb.Pairs() {
		k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: %d elements turned, now %d", id, ra.Dim, rb.Dim)
		c.add(k)
		return
	}
	n := ra.Pairs()
	cosA, sinA, cosB, sinB := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	prefix := c.prefix()
	var d difference
	differs := false
	rounding := (float64(float32Angle.Value) + float64(storageTolerance(p.stored()).Value)) * math.Max(ra.Amplitude(), 1)
	stored := p.before.Encoding()
	if p.rebuilt() && stored.Form == report.FormRuntime { // all rows, where one file has rows
		stored = p.after.Encoding()
	}
	for _, length := range lengthsOf(ra, prefix) {
		for _, pos := range positionsOf(stored, length) {
			if err := firstOf(a.Rotation(pos, length, cosA, sinA), b.Rotation(pos, length, cosB, sinB)); err != nil {
				c.add(withoutRow(k, p.index, err))
				return
			}
			beyond := rounding * float64(pos+1)
			for i := range n {
				if x := d.look(cosA[i], cosB[i]); d.look(sinA[i], sinB[i]) || x {
					k.At = &report.At{Position: report.Pointer(pos), Where: firstWhere(p.after)}
				}
				differs = differs || math.Abs(cosA[i]-cosB[i]) > beyond || math.Abs(sinA[i]-sinB[i]) > beyond
			}
		}
	}
	k.Measure = d.measure()
	if p.rebuilt() {
		k.Tolerance, k.Why = &float32Angle, fmt.Sprintf("%s: computed in one file and stored in the other", id)
	}
	if d.seen && (differs || !p.rebuilt()) {
		c.changed = true
		k.Why = fmt.Sprintf("%s: %s became %s", id, ra, rb)
		if expect := c.expectOf(p.index); expect != report.ExpectChanged && (expect != "" || !p.explained()) {
			k.Verdict = report.CheckFail
		}
		if ra.Equal(rb) {
			k.Why = fmt.Sprintf("%s: cosines and sines differ, and both files have %s", id, rb)
		}
	}
	c.add(k)
	c.formula(p, b, rb, d.seen, p.rebuilt() && !differs)
}

// lengthsOf are the lengths of input at which a rotation is compared: the old one, and within it
// the longest that turns by the short one of two lists.
func lengthsOf(r schemes.Rotary, prefix int) []int {
	if n := r.Scaling.OriginalLength; r.Scaling.ByLength() && n > 0 && n < prefix {
		return []int{n, prefix}
	}
	return []int{prefix}
}

// rebuilt reports whether the one file computes what the other stores: then their
// numbers are alike but for the rounding of what is stored and of its angles.
func (p pair) rebuilt() bool {
	a, b := p.before.Encoding(), p.after.Encoding()
	if a.Form == report.FormKeys && b.Form == report.FormKeys {
		return divided(a) != divided(b)
	}
	return (a.Form == report.FormRuntime) != (b.Form == report.FormRuntime)
}

// divided reports whether keys have a tensor of divisors beside them.
func divided(e position.Encoding) bool {
	return slices.ContainsFunc(e.Where, func(w report.Where) bool { return w.Tensor != "" })
}

// stored is the storage type of the file of the two that stores numbers.
func (p pair) stored() string {
	if p.before.Encoding().Form == report.FormRuntime {
		return p.after.Encoding().Dtype
	}
	return p.before.Encoding().Dtype
}

// formula holds a file's own numbers against the scheme that they should be:
// the plan's, or the one that the file claims. held says that they are those that the other file computes, of frequencies of its own.
func (c *comparison) formula(p pair, b position.Rotator, claimed schemes.Rotary, changed, held bool) {
	id := position.ID(p.index)
	want := claimed
	planned, isPlanned, err := c.planned(id, claimed)
	if err != nil {
		c.add(report.Check{Name: report.CheckTable, Verdict: report.CheckFail, Why: fmt.Sprintf("%s: the plan cannot be held against the file: %v", id, err), At: &report.At{Where: firstWhere(p.after)}})
		return
	}
	if isPlanned && changed {
		want = planned
	}
	k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Tolerance: &float32Angle, Why: fmt.Sprintf("%s: %s by its formula", id, want)}
	if claimed.Scaling.IsCustom() && changed {
		if before, ok := rotaryOf(p.before.Encoding()); ok && !before.Scaling.IsCustom() && !isPlanned {
			k.Verdict, k.Why, k.Tolerance = report.CheckFail, id+": frequencies that no formula explains took the place of "+before.String(), nil
			k.At = &report.At{Where: firstWhere(p.after)}
			c.add(k)
			return
		}
	}
	unexplained := held
	if before, ok := rotaryOf(p.before.Encoding()); ok && claimed.Scaling.IsCustom() && !changed && before.Pairs() == claimed.Pairs() {
		want = before // rows that are wrong hide the formula of the rest
		k.Why = fmt.Sprintf("%s: %s by its formula", id, want)
		unexplained = held || before.Scaling.IsCustom() && p.before.Encoding().Capacity == p.after.Encoding().Capacity
	}
	if want.ByPlace() {
		k.Verdict, k.Why, k.Tolerance = report.CheckSkipped, id+": what a place of several coordinates turns by is held against the other file, for no formula of one position gives it", nil
		c.add(k)
		return
	}
	if k = c.against(k, p.after, b, want); k.Verdict == report.CheckFail && unexplained {
		k = report.Check{Name: k.Name, Verdict: report.CheckSkipped, Why: id + ": no formula gives the rows of either file as they are, which are held against one another alone"}
	}
	c.add(k)
}

// against holds the rotations that a site computes against those of a scheme, in
// check k.
func (c *comparison) against(k report.Check, s position.Site, b position.Rotator, want schemes.Rotary) report.Check {
	id := ""
	if k.Why != "" {
		id, _, _ = strings.Cut(k.Why, ":")
	}
	n := want.Pairs()
	cos, sin, wantCos, wantSin := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	length := c.newLength()
	rotator := want.Rotator(schemes.RecipeExact, length)
	storage := float64(storageTolerance(c.storedAs(s.Encoding(), b, n)).Value)
	angle := &float32Angle
	if rounds, ok := s.(interface{ AnglePrecision() string }); ok {
		switch rounds.AnglePrecision() {
		case "float16":
			angle, storage = &halfAngle, max(storage, float64(halfStorage.Value))
		case "bfloat16":
			angle, storage = &brainAngle, max(storage, float64(brainStorage.Value))
		}
	}
	if k.Tolerance == &float32Angle {
		k.Tolerance = angle
	}
	amplitude := math.Max(want.Amplitude(), 1)
	still, frequencies := want.Still(), want.InverseFrequencies()
	if slices.Contains(still, true) {
		k.Why += "; pairs of a fourth section, which stand still in text, are not compared"
	}
	var d difference
	for _, pos := range positionsOf(s.Encoding(), length) {
		if k.Verdict == report.CheckFail {
			break // the first one is told
		}
		if err := b.Rotation(pos, length, cos, sin); err != nil {
			k.Verdict, k.Why = report.CheckFail, id+": "+err.Error()
			break
		}
		rotator.Row(float64(pos), wantCos, wantSin)
		allowed := (float64(angle.Value)*float64(pos+1) + storage) * amplitude * formulaSlack
		for i := range n {
			if still[i] {
				continue
			}
			if angle != &float32Angle { // slow pairs tell where fast ones no longer do
				allowed = (float64(angle.Value)*float64(pos)*frequencies[min(i, len(frequencies)-1)] + storage) * amplitude
			}
			x := d.look(cos[i], wantCos[i])
			if y := d.look(sin[i], wantSin[i]); x || y {
				k.At = &report.At{Position: report.Pointer(pos), Where: firstWhere(s)}
			}
			if !(math.Abs(cos[i]-wantCos[i]) <= allowed && math.Abs(sin[i]-wantSin[i]) <= allowed) && k.Verdict != report.CheckFail {
				k.At = &report.At{Position: report.Pointer(pos), Where: firstWhere(s)}
				k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: the numbers are not those of %s", id, want)
			}
		}
	}
	k.Measure = d.measure()
	return k
}

// amplitudeAs is the type that an amplitude other than 1 was rounded to, of cosines
// and sines that the graph computes; "" for none that is coarser than float32.
func amplitudeAs(b position.Rotator, length int, cos, sin []float64) string {
	if len(cos) == 0 || b.Rotation(0, length, cos, sin) != nil || cos[0] == 1 {
		return ""
	}
	switch bits := math.Float32bits(float32(cos[0])); {
	case float64(float32(cos[0])) != cos[0]:
		return ""
	case bits&(1<<16-1) == 0:
		return "bfloat16"
	case bits&(1<<13-1) == 0:
		return "float16"
	}
	return ""
}

// rowsStoredAs is storedAs of the rows ahead of new ones, or of all where all are new.
func rowsStoredAs(e position.Encoding, b position.Rows, kept int) string {
	if kept == 0 {
		kept = b.Len()
	}
	half, brain := e.Dtype == "float32" && kept > 0, e.Dtype == "float32" && kept > 0
	row := make([]float64, b.Dim())
	for i := 0; i < kept && (half || brain); i++ {
		if b.Row(i, row) != nil {
			return e.Dtype
		}
		for _, x := range row {
			bits := math.Float32bits(float32(x))
			half, brain = half && bits&(1<<13-1) == 0, brain && bits&(1<<16-1) == 0
		}
	}
	return roundedTo(half, brain, e.Dtype)
}

func roundedTo(half, brain bool, stored string) string {
	switch {
	case brain:
		return "bfloat16"
	case half:
		return "float16"
	}
	return stored
}

// storedAs is the type whose precision an encoding's cosines and sines have: that in
// which they stand, or a coarser one to which they were rounded before.
func (c *comparison) storedAs(e position.Encoding, b position.Rotator, pairs int) string {
	length := c.newLength()
	cos, sin := make([]float64, pairs), make([]float64, pairs)
	if e.Dtype == "" {
		return amplitudeAs(b, length, cos, sin)
	}
	half, brain := e.Dtype == "float32", e.Dtype == "float32"
	for _, pos := range positionsOf(e, length) {
		if !half && !brain || b.Rotation(pos, length, cos, sin) != nil {
			break
		}
		for i := range pairs {
			bits := math.Float32bits(float32(cos[i])) | math.Float32bits(float32(sin[i]))
			half, brain = half && bits&(1<<13-1) == 0, brain && bits&(1<<16-1) == 0
		}
	}
	return roundedTo(half, brain, e.Dtype)
}

// formulaSlack covers frequencies that were themselves recovered from float32
// numbers and are off by up to 1.2e-6 (facts/NUMERICS §8).
const formulaSlack = 8

// planned is the scheme that a plan announced for an encoding. A plan of another
// version may have types that this one does not know, which is an error.
func (c *comparison) planned(id string, like schemes.Rotary) (planned schemes.Rotary, ok bool, err error) {
	if c.o.Plan == nil {
		return schemes.Rotary{}, false, nil
	}
	for _, change := range slices.Backward(c.o.Plan.Changes) { // the last one holds
		if change.Encoding == id && change.To != nil && change.To.Base != nil {
			planned, err = parameters.Rotary(*change.To, like)
			return planned, err == nil, err
		}
	}
	return schemes.Rotary{}, false, nil
}

// prefix is the length that both files can encode.
func (c *comparison) prefix() int {
	n := min(lengthOf(c.before), lengthOf(c.after))
	return max(n, 2)
}

func (c *comparison) newLength() int { return max(lengthOf(c.after), 2) }

// unboundedLength is how far files are compared that nothing bounds.
const unboundedLength = 4096

// lengthOf is the number of positions that a file can encode: its capacity, or
// what it states, or a usual length.
func lengthOf(m position.Model) int {
	l := position.Length(m, m.Describe())
	switch {
	case l.Capacity != nil:
		return *l.Capacity
	case l.Stated != nil:
		return min(*l.Stated, 1<<20)
	}
	return unboundedLength
}

// biases compares linear and bucketed biases of paired encodings.
func (c *comparison) biases() {
	for _, p := range c.pairs {
		a, ok1 := p.before.(position.Biaser)
		b, ok2 := p.after.(position.Biaser)
		if !ok1 || !ok2 {
			continue
		}
		heads := headsOf(p.before.Encoding(), p.after.Encoding())
		length := min(c.prefix(), 64)
		k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Tolerance: &bitwise}
		var d difference
		for _, h := range heads {
			for q := 0; q < length; q += 7 {
				for j := 0; j < length; j += 5 {
					x, err1 := a.Bias(h, q, j, length)
					y, err2 := b.Bias(h, q, j, length)
					if err := firstOf(err1, err2); err != nil {
						k = withoutRow(k, p.index, err)
					}
					if d.look(x, y) {
						k.At = &report.At{Head: report.Pointer(h), Position: report.Pointer(q)}
					}
				}
			}
		}
		k.Measure = d.measure()
		if d.seen {
			c.changed = true
			if expect := c.expectOf(p.index); expect != report.ExpectChanged && (expect != "" || !p.explained()) {
				k.Verdict, k.Why = report.CheckFail, position.ID(p.index)+": the bias differs"
			}
		}
		c.add(k)
	}
}

// slopeTolerance is the relative deviation allowed of a slope: Falcon's are
// bfloat16.
var slopeTolerance = report.Tolerance{Name: "slope", Value: 1e-2}

// slopes holds linear biases that came, or took another's place, against the
// plan, or without one against the rule of their kind.
func (c *comparison) slopes() {
	for i, s := range c.after.Sites() {
		b, ok := s.(position.Biaser)
		found, linear := s.Encoding().Scheme.(schemes.ALiBi)
		if !ok || !linear || !c.isNew(s) {
			continue
		}
		k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Tolerance: &slopeTolerance, Why: fmt.Sprintf("%s: %s by its rule", position.ID(i), found)}
		want, planned := c.plannedSlopes(found.Heads)
		if !planned {
			if k.Tolerance = nil; found.MaxBias == 0 {
				k.Verdict, k.Why, k.At = report.CheckFail, fmt.Sprintf("%s: no rule explains the slopes", position.ID(i)), &report.At{Where: firstWhere(s)}
			}
			c.add(k)
			continue
		}
		var d difference
		const distance = 1
		for _, head := range want.Sample() {
			slope := want.Slope(head)
			x, err := b.Bias(head, distance, 0, distance+1)
			if err != nil {
				k.Verdict, k.Why = report.CheckFail, err.Error()
				break
			}
			if d.look(x/slope, -distance) {
				k.At = &report.At{Head: report.Pointer(head), Where: firstWhere(s)}
			}
		}
		if k.Measure = d.measure(); d.abs > float64(slopeTolerance.Value) {
			k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: the slopes are not those of %s", position.ID(i), want)
		}
		for _, a := range c.after.Attentions() { // the bias is added to all of them but those across two sequences, or to none
			others := a.Heads != found.Heads && biasOf(c.after.Sites(), a.Heads, append([]int{}, a.Encodings...)) >= 0 // one for its own heads
			if k.Verdict == report.CheckPass && !a.Crosses && !slices.Contains(a.Encodings, i) && !others {
				k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: the bias does not act in the attention of layer %d", position.ID(i), a.Layer)
				k.At = &report.At{Layer: report.Pointer(a.Layer)}
			}
		}
		c.add(k)
	}
}

// biasOf is the first linear bias of so many heads, among some sites alone where these are given; −1 for none.
func biasOf(sites []position.Site, heads int, among []int) int {
	for i, s := range sites {
		if got, linear := s.Encoding().Scheme.(schemes.ALiBi); linear && got.Heads == heads && (among == nil || slices.Contains(among, i)) {
			return i
		}
	}
	return -1
}

// isNew reports whether an encoding came or is not what it was.
func (c *comparison) isNew(s position.Site) bool {
	for _, p := range c.pairs {
		if p.after == s {
			return !p.before.Encoding().Scheme.Equal(s.Encoding().Scheme)
		}
	}
	return true
}

// plannedSlopes is the linear bias that a plan announced.
func (c *comparison) plannedSlopes(heads int) (schemes.ALiBi, bool) {
	if c.o.Plan == nil {
		return schemes.ALiBi{}, false
	}
	for _, change := range c.o.Plan.Changes {
		p := change.To
		switch {
		case p == nil || p.Heads == nil:
		case p.MaxBias != nil: // by this rule, for each attention's own heads
			return schemes.ALiBi{Heads: heads, MaxBias: float64(*p.MaxBias)}, true
		case len(p.Slopes) == heads && *p.Heads == heads:
			planned := schemes.ALiBi{Heads: heads}
			for _, slope := range p.Slopes {
				planned.Slopes = append(planned.Slopes, float64(slope))
			}
			return planned, true
		}
	}
	return schemes.ALiBi{}, false
}

// headsOf lists the heads whose biases are compared: all, but where formulas give them to as many
// heads as both files claim.
func headsOf(before, after position.Encoding) []int {
	n := 0
	switch s := before.Scheme.(type) {
	case schemes.ALiBi:
		if o, ok := after.Scheme.(schemes.ALiBi); ok && s.Slopes == nil && o.Slopes == nil {
			return s.Sample()
		}
		n = s.Heads
	case schemes.Buckets:
		n = s.Heads
	}
	return spread(n, n)
}
