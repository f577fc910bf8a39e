package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Number is a float64 that survives JSON: NaN and the infinities, which JSON
// lacks, are the strings "NaN", "Infinity" and "-Infinity".
type Number float64

// MarshalJSON writes the shortest digits that round-trip.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(f)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*n = Number(math.NaN())
		return nil
	case `"Infinity"`:
		*n = Number(math.Inf(1))
		return nil
	case `"-Infinity"`:
		*n = Number(math.Inf(-1))
		return nil
	}
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("report: number %s: %w", data, err)
	}
	*n = Number(f)
	return nil
}

// Layers lists the layers that use an encoding; nil means all of them and is
// written as the word "all".
type Layers []int

// MarshalJSON writes "all" or the list.
func (l Layers) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte(`"all"`), nil
	}
	return json.Marshal([]int(l))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Layers) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte(`"all"`)) {
		*l = nil
		return nil
	}
	return json.Unmarshal(data, (*[]int)(l))
}

// Pointer returns a pointer to v, for fields where nil means "does not apply".
func Pointer[T any](v T) *T { return &v }

// Numbers converts a list of values for a report.
func Numbers(values []float64) []Number {
	if values == nil {
		return nil
	}
	out := make([]Number, len(values))
	for i, v := range values {
		out[i] = Number(v)
	}
	return out
}
