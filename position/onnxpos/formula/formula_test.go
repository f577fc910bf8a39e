package formula

import "testing"

// What a formula says follows from the sizes of the axes that it names; one that names others, or is none, says nothing.
func TestSize(t *testing.T) {
	named := map[string]int{"s25": 4, "past_sequence_length": 3, "sequence_length": 5}
	for text, want := range map[string]int{"s25 + 1": 5, "2*s25 - 3": 5, "(s25 + 3)//2": 3, "past_sequence_length + sequence_length": 8, "past_sequence_length+1": 4,
		"s25": 0, "s25 // 0": 0, "s25 + other": 0, "s25 +": 0, "Max(1, s25)+1": 0, "past-length": 0, "": 0} {
		if got, ok := Size(text, named); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %t", text, got, ok)
		}
	}
}
