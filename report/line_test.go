package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// TestLineIsEncodingJSON holds Line against encoding/json, for every report with
// random content.
func TestLineIsEncodingJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, v := range []any{new(report.Inspect), new(report.Plan), new(report.Verify), new(report.Error)} {
		t.Run(reflect.TypeOf(v).Elem().Name(), func(t *testing.T) {
			for range 500 {
				fill(random, reflect.ValueOf(v).Elem(), 0)
				got, err := report.Line(v)
				if err != nil {
					t.Fatal(err)
				}
				var want bytes.Buffer
				encoder := json.NewEncoder(&want)
				encoder.SetEscapeHTML(false)
				if err := encoder.Encode(v); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want.Bytes()) {
					t.Fatalf("Line writes\n%s\nencoding/json\n%s", got, want.Bytes())
				}
				if byValue, _ := report.Line(reflect.ValueOf(v).Elem().Interface()); !bytes.Equal(byValue, got) {
					t.Fatalf("a value and a pointer to it differ:\n%s\n%s", byValue, got)
				}
			}
		})
	}
}

// fill gives a value random content: zero, nil and empty often enough that
// every field is left out sometimes.
func fill(random *rand.Rand, v reflect.Value, depth int) {
	v.SetZero()
	if v.Kind() != reflect.Struct && random.IntN(4) == 0 {
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"Length":64,"Method":"<b>"}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(random, v.Index(i), depth+1)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		texts := []string{"a", "<b> & \"c\" \\", "é\t\n\x00", "\xff", "模型"}
		v.SetString(texts[random.IntN(len(texts))])
	case reflect.Float64:
		numbers := []float64{1, -0.5, 1e-7, 1e21, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
		v.SetFloat(numbers[random.IntN(len(numbers))])
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64() - math.MaxInt64/2)
	default:
		panic(v.Kind().String() + " in a report")
	}
}

// TestLineHidesNothing: what could steer a terminal is escaped, and comes back.
func TestLineHidesNothing(t *testing.T) {
	const name = "a\u202eb\u0085\U000e0041\x1b[2J"
	line, err := report.Line(report.Error{Path: name})
	if err != nil {
		t.Fatal(err)
	}
	if want := `"path":"a\u202eb\u0085\udb40\udc41\u001b[2J"`; !bytes.Contains(line, []byte(want)) {
		t.Errorf("%s has no %s", line, want)
	}
	var back report.Error
	if err := json.Unmarshal(line, &back); err != nil || back.Path != name {
		t.Errorf("%q came back as %q, %v", name, back.Path, err)
	}
}
