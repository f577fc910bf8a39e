package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/vm"
	"go.yaml.in/yaml/v3"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

var expectKeys = []string{"id", "length", "capacity", "scheme", "scaling", "base", "tolerance", "format", "architecture", "expr", "level", "why"}

// expectation is what a model must be. Every field that is given must hold.
type expectation struct {
	id, why, level string
	length         *comparison // stated, or else the capacity
	capacity       *comparison
	schemes        []string // every encoding has one of these
	scalings       []string // every rotation has one of these
	formats        []string
	architectures  []string
	base           *float64
	tolerance      float64 // relative, of base
	text           string  // of program
	program        *vm.Program
	line           int
}

// comparison is ">= 8192" and its like.
type comparison struct {
	operator string
	number   float64
}

var comparisonForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(>=|<=|==|=|>|<)?\s*([0-9][0-9_]*)\s*$`)
})

func (c comparison) holds(x float64) bool {
	switch c.operator {
	case ">=":
		return x >= c.number
	case "<=":
		return x <= c.number
	case ">":
		return x > c.number
	case "<":
		return x < c.number
	}
	return x == c.number
}

// String is the comparison as messages tell it.
func (c comparison) String() string { return fmt.Sprintf("%s %.0f", c.operator, c.number) }

func (r *reader) comparison(n *yaml.Node) *comparison {
	m := comparisonForm().FindStringSubmatch(n.Value)
	if m == nil {
		r.fail(n, fmt.Sprintf("%q is no comparison", report.Printable(n.Value)), `write ">= 8192"`)
		return nil
	}
	number, _ := strconv.ParseFloat(strings.ReplaceAll(m[2], "_", ""), 64)
	if m[1] == "" || m[1] == "==" {
		m[1] = "="
	}
	return &comparison{m[1], number}
}

// baseTolerance is how far a base may be off where the policy does not say: it is stored
// in float32, or read back from frequencies of that precision.
const baseTolerance = 1e-6

func (r *reader) expectation(n *yaml.Node) expectation {
	x := expectation{tolerance: baseTolerance, level: report.LevelError, line: n.Line}
	r.fields(n, expectKeys, func(key string, v *yaml.Node) {
		switch key {
		case "id":
			x.id = v.Value
		case "why":
			x.why = v.Value
		case "level":
			r.level(v, v.Value)
			x.level = v.Value
		case "length":
			x.length = r.comparison(v)
		case "capacity":
			x.capacity = r.comparison(v)
		case "scheme":
			x.schemes = r.words(v, "scheme", report.Schemes)
		case "scaling":
			x.scalings = r.words(v, "scaling", scalings())
		case "format":
			x.formats = r.words(v, "format", formats)
		case "architecture":
			x.architectures = r.strings(v)
		case "base":
			r.decode(v, &x.base, "a number")
		case "tolerance":
			r.decode(v, &x.tolerance, "a number")
		case "expr":
			x.text = v.Value
			program, err := r.compile(v.Value)
			if err != nil {
				what, _, _ := strings.Cut(err.Error(), "\n")
				hint := "its fields: path, format, kind, architecture, bytes, length.stated, length.has_stated, length.capacity, length.has_capacity, length.beyond, encodings"
				if name := unknownFunction(v.Value); name != "" { // which the parser tells as a token that it did not expect
					what, hint = "no function is called "+name, spelling.Hint(name, builtin.Names, hint)
				}
				r.fail(v, "the expression cannot be read: "+what, hint)
			}
			x.program = program
		}
	})
	switch {
	case x.id == "":
		r.fail(n, "an expectation needs an id", "a short name that findings tell")
	case x.length == nil && x.capacity == nil && len(x.schemes)+len(x.scalings)+len(x.formats)+len(x.architectures) == 0 && x.base == nil && x.text == "":
		r.fail(n, fmt.Sprintf("the expectation %q expects nothing", report.Printable(x.id)), "length, capacity, scheme, scaling, base, format, architecture or expr")
	}
	return x
}

// call matches the name before a bracket, which is a function's.
var call = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^.\w"'])([A-Za-z_]\w*)\(`) })

// unknownFunction is the first function in an expression that there is not; "" where there is none.
func unknownFunction(text string) string {
	for _, m := range call().FindAllStringSubmatch(text, -1) {
		if _, ok := builtin.Index[m[1]]; !ok && !slices.Contains([]string{"not", "in", "and", "or"}, m[1]) {
			return m[1]
		}
	}
	return ""
}

// formats are the formats of models, as reports name them.
var formats = []string{"gguf", "onnx"}

// scalings are the types of rotary scaling, as reports name them.
func scalings() []string {
	return schemes.ScalingNames(func(*schemes.ScalingType) bool { return true })
}

// Env is what an expression sees of a model.
type Env struct {
	Path         string `expr:"path"`
	Format       string `expr:"format"`
	Kind         string `expr:"kind"`
	Architecture string `expr:"architecture"`
	Bytes        int    `expr:"bytes"`
	Length       Length `expr:"length"`
	Encodings    []Each `expr:"encodings"`

	// Charge takes the cost of reading a value so many times from the expression's budget. It is
	// called by what is added to every expression.
	Charge func(value any, times int) (bool, error) `expr:"_charge"`
}

// Length is a model's length for an expression; 0 where the file does not say (has_stated), and where
// nothing bounds it or that is not known (has_capacity; beyond is "continues" or another word).
type Length struct {
	Stated      int    `expr:"stated"`
	HasStated   bool   `expr:"has_stated"`
	Capacity    int    `expr:"capacity"`
	HasCapacity bool   `expr:"has_capacity"`
	Beyond      string `expr:"beyond"`
}

// Each is one encoding for an expression; numbers that it does not have are 0.
type Each struct {
	Scheme    string  `expr:"scheme"`
	Form      string  `expr:"form"`
	Beyond    string  `expr:"beyond"`
	Capacity  int     `expr:"capacity"`
	Base      float64 `expr:"base"`
	RotaryDim int     `expr:"rotary_dim"`
	HeadDim   int     `expr:"head_dim"`
	Layout    string  `expr:"layout"`
	Rows      int     `expr:"rows"`
	Scaling   Scaling `expr:"scaling"`
}

// Scaling is a rotation's scaling for an expression; type is "" for other schemes.
type Scaling struct {
	Type           string  `expr:"type"`
	Factor         float64 `expr:"factor"`
	OriginalLength int     `expr:"original_length"`
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func environment(r *report.Inspect, b *budget) Env {
	e := Env{Path: r.Path, Format: r.Format, Kind: r.Kind, Architecture: orZero(r.Architecture), Bytes: int(r.Bytes), Charge: b.charge,
		Length: Length{orZero(r.Length.Stated), r.Length.Stated != nil, orZero(r.Length.Capacity), r.Length.Capacity != nil, r.Length.Beyond}}
	for _, x := range r.Encodings {
		p := x.Parameters
		each := Each{Scheme: x.Scheme, Form: orZero(x.Form), Beyond: x.Beyond, Capacity: orZero(x.Capacity), Base: float64(orZero(p.Base)),
			RotaryDim: orZero(p.RotaryDim), HeadDim: orZero(p.HeadDim), Layout: p.Layout, Rows: orZero(p.Rows)}
		if p.Scaling != nil {
			each.Scaling = Scaling{p.Scaling.Type, float64(orZero(p.Scaling.Factor)), orZero(p.Scaling.OriginalLength)}
		}
		e.Encodings = append(e.Encodings, each)
	}
	return e
}

// unmet is the finding of an expectation that does not hold; nil where it does. A file
// that cannot be read meets none, and says so by its own finding.
func (x expectation) unmet(policy string, f *rules.Facts, b *budget) (*report.Finding, error) {
	if f.Report == nil {
		return nil, nil
	}
	r := f.Report
	why := func(says string) *report.Finding {
		message := fmt.Sprintf("expected by %q: %s", report.Printable(x.id), says)
		if x.why != "" {
			message += "; " + report.Printable(x.why)
		}
		return &report.Finding{Rule: rules.PolicyExpectation, Level: x.level, Message: message, Where: &report.Where{Key: report.Printable(x.id)}}
	}
	if x.length != nil {
		switch {
		case r.Length.Stated != nil && !x.length.holds(float64(*r.Length.Stated)):
			return why(fmt.Sprintf("a length %s, and %d is stated", x.length, *r.Length.Stated)), nil
		case r.Length.Capacity != nil && r.Length.Beyond != report.BeyondContinues && !x.length.holds(float64(*r.Length.Capacity)) && (r.Length.Stated == nil || *r.Length.Capacity < *r.Length.Stated):
			return why(fmt.Sprintf("a length %s, and the model takes %d positions", x.length, *r.Length.Capacity)), nil
		case r.Length.Stated == nil && r.Length.Capacity == nil && (len(f.Stated.Lengths) == 0 || !x.length.holds(float64(f.Stated.Lengths[0].Length))):
			return why(fmt.Sprintf("a length %s, and none is stated", x.length)), nil
		}
	}
	if x.capacity != nil {
		switch limit := r.Length.Limit(); {
		case limit.Known() && r.Length.Beyond != report.BeyondContinues && !x.capacity.holds(float64(limit)):
			return why(fmt.Sprintf("a capacity %s, and the model takes %s", x.capacity, limit.Of("positions"))), nil
		case limit == report.LimitNotKnown && r.Kind == report.KindModel:
			return why(fmt.Sprintf("a capacity %s, and how far the model reaches is not known", x.capacity)), nil
		}
	}
	if len(x.formats) > 0 && !slices.Contains(x.formats, r.Format) {
		return why(fmt.Sprintf("format %s, and it is %s", strings.Join(x.formats, " or "), r.Format)), nil
	}
	if len(x.architectures) > 0 && !slices.Contains(x.architectures, orZero(r.Architecture)) {
		is := "the file states none"
		if r.Architecture != nil {
			is = fmt.Sprintf("it is %q", report.Printable(*r.Architecture))
		}
		return why(fmt.Sprintf("architecture %s, and %s", strings.Join(x.architectures, " or "), is)), nil
	}
	for _, e := range r.Encodings {
		if len(x.schemes) > 0 && !slices.Contains(x.schemes, e.Scheme) {
			return why(fmt.Sprintf("scheme %s, and the model has %s", strings.Join(x.schemes, " or "), e.Scheme)), nil
		}
		if e.Scheme != report.SchemeRope {
			continue
		}
		if p := e.Parameters.Base; x.base != nil && (p == nil || math.Abs(float64(*p)/(*x.base)-1) > x.tolerance) {
			return why(fmt.Sprintf("base %g, and RoPE has %g", *x.base, float64(orZero(p)))), nil
		}
		if s := e.Parameters.Scaling; len(x.scalings) > 0 && s != nil && !slices.Contains(x.scalings, s.Type) {
			return why(fmt.Sprintf("scaling %s, and RoPE has %s", strings.Join(x.scalings, " or "), s.Type)), nil
		}
	}
	if x.base != nil && !slices.ContainsFunc(r.Encodings, func(e report.Encoding) bool { return e.Scheme == report.SchemeRope }) {
		return why(fmt.Sprintf("base %g, and the model has no RoPE", *x.base)), nil
	}
	if x.program != nil {
		ok, err := expr.Run(x.program, environment(r, b))
		if err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n")
			return nil, &Error{Path: policy, Line: x.line, What: fmt.Sprintf("the expression of %q fails for %s: %s", report.Printable(x.id), report.Printable(f.Path), what)}
		}
		if ok != true {
			return why(report.Printable(x.text)), nil
		}
	}
	return nil, nil
}
