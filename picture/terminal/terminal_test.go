package terminal

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/picture/figure"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		want        Protocol
	}{
		{map[string]string{"TERM": "xterm-256color"}, Blocks},
		{map[string]string{}, Blocks},
		{map[string]string{"TERM": "xterm-kitty"}, Kitty},
		{map[string]string{"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, Kitty},
		{map[string]string{"TERM": "xterm-ghostty"}, Kitty},
		{map[string]string{"TERM_PROGRAM": "iTerm.app", "TERM": "xterm-256color"}, ITerm2},
		{map[string]string{"TERM_PROGRAM": "WezTerm"}, ITerm2},
		{map[string]string{"TERM": "foot"}, Sixel},
		{map[string]string{"TERM": "mlterm-256color"}, Sixel},
		{map[string]string{"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}, Blocks},
		{map[string]string{"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, Blocks},
		{map[string]string{"TERM": "screen", "KITTY_WINDOW_ID": "1"}, Blocks},
	} {
		if got := Of(func(name string) string { return c.environment[name] }); got != c.want {
			t.Errorf("%v: %s, want %s", c.environment, got, c.want)
		}
	}
}

// TestKitty takes the chunks apart as a terminal does.
func TestKitty(t *testing.T) {
	for _, size := range []int{0, 1, 3071, 3072, 3073, 10_000} {
		data := bytes.Repeat([]byte{7, 8, 9}, size)[:size]
		out := string(WriteKitty(data, 80))
		var joined string
		parts := regexp.MustCompile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\").FindAllStringSubmatch(out, -1)
		for i, p := range parts {
			if len(p[2]) > 4096 {
				t.Errorf("a chunk of %d bytes", len(p[2]))
			}
			if last := strings.HasSuffix(p[1], "m=0"); last != (i == len(parts)-1) {
				t.Errorf("chunk %d of %d says %s", i, len(parts), p[1])
			}
			joined += p[2]
		}
		got, err := base64.StdEncoding.DecodeString(joined)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes come back as %d: %v", size, len(got), err)
		}
	}
}

// TestSixel reads sixels back: every pixel has the colour nearest to the image's.
func TestSixel(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 23, 13))
	for y := range 13 {
		for x := range 23 {
			m.Set(x, y, color.RGBA{uint8(x / 8 * 102), uint8(y / 4 * 51), 255, 255})
		}
	}
	out := string(WriteSixel(m))
	body, ok := strings.CutPrefix(out, "\x1bPq\"1;1;23;13")
	if !ok || !strings.HasSuffix(body, "\x1b\\\n") {
		t.Fatalf("starts %.30q", out)
	}
	got := map[image.Point]int{}
	x, y, colour, count := 0, 0, 0, 1
	for i := 0; i < len(body) && body[i] != 0x1b; {
		switch c := body[i]; {
		case c == '#':
			number := regexp.MustCompile(`^#(\d+)((?:;\d+)*)`).FindStringSubmatch(body[i:])
			colour = atoi(number[1])
			i += len(number[0])
			continue
		case c == '!':
			number := regexp.MustCompile(`^!(\d+)`).FindStringSubmatch(body[i:])
			count = atoi(number[1])
			i += len(number[0])
			continue
		case c == '$':
			x = 0
		case c == '-':
			x, y = 0, y+6
		default:
			for ; count > 0; count-- {
				for k := range 6 {
					if (c-'?')>>k&1 == 1 {
						got[image.Pt(x, y+k)] = colour
					}
				}
				x++
			}
			count = 1
		}
		i++
	}
	for y := range 13 {
		for x := range 23 {
			c := m.RGBAAt(x, y)
			near := func(v uint8) int { return int(math.Round(float64(v) / 51)) }
			if want := near(c.R)*36 + near(c.G)*6 + near(c.B); got[image.Pt(x, y)] != want {
				t.Fatalf("pixel %d,%d: colour %d, want %d", x, y, got[image.Pt(x, y)], want)
			}
		}
	}
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
		want   string
	}{
		{[]float64{0, 1, 2, 4, 8}, 40, "▁▂▃▅█ 0…8"},
		{[]float64{1, math.NaN(), 1}, 40, "█!█ 1…1"},
		{[]float64{0, 0}, 40, "▁▁ 0…0"},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 4, "▃▅▇█ 1…8"},
		{nil, 40, "no numbers"},
		{[]float64{math.NaN()}, 40, "no numbers"},
	} {
		if got := Sparkline(c.values, c.width); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

// TestSeriesMeet: where series are equal, each is seen.
func TestSeriesMeet(t *testing.T) {
	x := []float64{1, 2, 3, 4}
	panel := figure.Panel{Series: []figure.Series{{Name: "this file", X: x, Y: x}, {Name: "an engine", X: x, Y: x}}}
	out := WriteBlocks([]figure.Figure{{Panels: []figure.Panel{panel}}}, false)
	if strings.Count(out, "×") < 20 || strings.Count(out, "•") < 20 {
		t.Errorf("%s", out)
	}
}
