package fit

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// placesError is float32 of the numbers that a table holds, over the places of the larger grid.
const placesError = 2e-5

func TestResizePlaces(t *testing.T) {
	for _, rule := range []string{"qwen2-vl", "pixtral", "dinov3", "eva02", "gemma4"} {
		for _, base := range []float64{10000, 100} {
			for _, sizes := range [][2][2]int{{{4, 4}, {6, 6}}, {{7, 7}, {3, 12}}, {{16, 16}, {32, 24}}, {{14, 14}, {14, 37}}} {
				from, to := sizes[0], sizes[1]
				name := fmt.Sprintf("%s, base %g, %v to %v", rule, base, from, to)
				dim := []int{32, 256}[to[0]/32] // of heads whose slowest columns hardly turn as well
				cos, sin, _ := axialTable(rule, base, dim, from[0], from[1])
				places, ok := PlacesOf(cos, sin, Float32, from[:])
				if !ok {
					t.Errorf("%s: not read", name)
					continue
				}
				resized, says, err := places.Resize(to[:], base, false)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if want := map[bool]string{true: "places stay between −1 and 1", false: "places go on by 1"}[rule == "dinov3"]; says != want {
					t.Errorf("%s: %q", name, says)
				}
				wantCos, wantSin, _ := axialTable(rule, base, dim, to[0], to[1])
				for place := range resized.Len() {
					for k := range wantCos.Cols() {
						c, s := resized.At(place, k)
						if apart := max(math.Abs(c-wantCos.At(place, k)), math.Abs(s-wantSin.At(place, k))); apart > placesError {
							t.Fatalf("%s: place %d, column %d is apart by %g", name, place, k, apart)
						}
					}
				}
			}
		}
	}
}

func TestSqueezedPlaces(t *testing.T) {
	cos, sin, _ := axialTable("eva02", 10000, 32, 8, 8)
	places, _ := PlacesOf(cos, sin, Float32, []int{8, 8})
	resized, says, err := places.Resize([]int{16, 8}, 10000, true)
	if err != nil || says != "places keep their span" {
		t.Fatalf("%q, %v", says, err)
	}
	for y := range 8 { // every second row is one of before
		for k := range cos.Cols() {
			c, s := resized.At(2*y*8+3, k)
			if math.Abs(c-cos.At(y*8+3, k)) > placesError || math.Abs(s-sin.At(y*8+3, k)) > placesError {
				t.Fatalf("row %d, column %d: %g, %g", y, k, c, s)
			}
		}
	}
}

// scaledTable has places that begin at a position and are a step apart.
func scaledTable(n int, start, step float64) (cos, sin Matrix) {
	angle := func(r, k int) float64 {
		at := []int{r / n, r % n}[k/2]
		return (start + step*float64(at)) * []float64{1, 0.01}[k%2]
	}
	return Func(n*n, 4, func(r, k int) float64 { return math.Cos(angle(r, k)) }), Func(n*n, 4, func(r, k int) float64 { return math.Sin(angle(r, k)) })
}

func TestPlacesThatTheFileDoesNotTell(t *testing.T) {
	for _, c := range []struct {
		start, step float64
		want        string
	}{{2, 1, "begin elsewhere than at 0"}, {0, 0.5, "counted from 0 by 0.5"}, {0, 1, ""}} {
		cos, sin := scaledTable(6, c.start, c.step)
		places, ok := PlacesOf(cos, sin, Float32, []int{6, 6})
		if !ok {
			t.Fatalf("%+v: not read", c)
		}
		_, _, err := places.Resize([]int{9, 9}, 10000, false)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	both := Func(16, 2, func(r, k int) float64 { return math.Cos(float64(r/4+r%4) * float64(k+1)) }) // turns along both axes
	other := Func(16, 2, func(r, k int) float64 { return math.Sin(float64(r/4+r%4) * float64(k+1)) })
	if _, ok := PlacesOf(both, other, Float32, []int{4, 4}); ok {
		t.Error("columns that turn along both axes are read")
	}
}
