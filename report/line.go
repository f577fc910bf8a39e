package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Line is one of the reports as one line of JSON: what encoding/json makes of
// it, without escapes for HTML, and hidden runes as \u escapes.
//
// Strings and numbers are written by encoding/json, structs are walked here:
// the encoders that it makes for these types at first use take a fourteenth of
// a whole inspect, and are used once (docs/decisions/0007).
func Line(v any) ([]byte, error) {
	var w lineWriter
	w.leaves = json.NewEncoder(&w.out)
	w.leaves.SetEscapeHTML(false)
	if err := w.value(reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	w.out.WriteByte('\n')
	return plain(w.out.Bytes()), nil
}

// Stamped is Line of an object with one more field behind its own: the version of the tool
// that prints it.
func Stamped(v any, version string) ([]byte, error) {
	line, err := Line(v)
	if err != nil || len(line) < len("{}\n") {
		return line, err
	}
	stamp, err := Line(struct {
		Version string `json:"version"`
	}{version})
	if err != nil {
		return nil, err
	}
	return append(append(line[:len(line)-len("}\n")], ','), stamp[1:]...), nil
}

// lineWriter writes values after each other.
type lineWriter struct {
	out    bytes.Buffer
	leaves *json.Encoder // to out
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// value writes any value of a report.
func (w *lineWriter) value(v reflect.Value) error {
	t := v.Type()
	switch kind := t.Kind(); {
	case kind == reflect.Pointer && !v.IsNil():
		return w.value(v.Elem())
	case t.Implements(marshaler):
		return w.leaf(v)
	case kind == reflect.Struct:
		return w.object(v)
	case kind == reflect.Slice && !v.IsNil(), kind == reflect.Array:
		return w.list(v)
	}
	return w.leaf(v)
}

// leaf writes what encoding/json makes of a value.
func (w *lineWriter) leaf(v reflect.Value) error {
	if err := w.leaves.Encode(v.Interface()); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1) // the line end
	return nil
}

func (w *lineWriter) list(v reflect.Value) error {
	w.out.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(v.Index(i)); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

// object writes the fields of a struct under the names of their tags; those of an
// embedded struct without a tag stand among them.
func (w *lineWriter) object(v reflect.Value) error {
	w.out.WriteByte('{')
	if _, err := w.fields(v, true); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}

// fields writes fields; first tells that none stands before them.
func (w *lineWriter) fields(v reflect.Value, first bool) (none bool, err error) {
	t := v.Type()
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		if t.Field(i).Anonymous && name == "" {
			if first, err = w.fields(field, first); err != nil {
				return first, err
			}
			continue
		}
		if options == "omitempty" && isEmpty(field) {
			continue
		}
		if !first {
			w.out.WriteByte(',')
		}
		first = false
		w.out.WriteString(`"` + name + `":`)
		if err := w.value(field); err != nil {
			return first, err
		}
	}
	return first, nil
}

// isEmpty is what encoding/json's omitempty means by empty.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.Kind() != reflect.Struct && v.IsZero()
}
