package fit

import (
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

func BenchmarkRotaryCache(b *testing.B) {
	cos, sin := cacheOf(schemes.Rotary{Base: 500000, Dim: 128}, schemes.RecipePow, 131072, 0, ColumnsHalf, Float32)
	for b.Loop() {
		if got, ok := RotaryCache(cos, sin, Float32); !ok || got.Different != 0 {
			b.Fatal(got)
		}
	}
}

func BenchmarkLearnedTable(b *testing.B) {
	m := Func(50000, 768, func(r, c int) float64 { return float64((r*7919+c*104729)%1009-504) / 512 })
	for b.Loop() {
		if got, ok := AdditiveTable(m, Float32); ok {
			b.Fatal(got)
		}
	}
}
