package verify

import (
	"slices"
	"testing"
)

// Every sample is a position that there is, the first and the last among them.
func TestSamplePositions(t *testing.T) {
	for length := 1; length < 5000; length++ {
		samples := samplePositions(length)
		if slices.Min(samples) != 0 || slices.Max(samples) != length-1 {
			t.Fatalf("%d positions: samples from %d to %d", length, slices.Min(samples), slices.Max(samples))
		}
	}
}
