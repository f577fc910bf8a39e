package matrix

// tiles are the ways to multiply a tile that this processor has.
func tiles() map[string]func(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	out := map[string]func(c []float64, strideC int, a []float64, strideA int, b []float64, k int){"as chosen": Tile}
	if faster {
		out["vectors of four"] = func(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
			faster = false
			defer func() { faster = true }()
			Tile(c, strideC, a, strideA, b, k)
		}
	}
	return out
}
