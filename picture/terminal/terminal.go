// Package terminal shows figures in a terminal: as pictures where it has a
// protocol for them, as block characters in any other.
package terminal

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"strings"
)

// Protocol is how a terminal takes pictures.
type Protocol string

// Protocols of terminals.
const (
	Blocks Protocol = "blocks" // none: characters are drawn
	Kitty  Protocol = "kitty"  // https://sw.kovidgoyal.net/kitty/graphics-protocol/
	ITerm2 Protocol = "iterm2" // https://iterm2.com/documentation-images.html
	Sixel  Protocol = "sixel"  // DEC, VT330/VT340 Programmer Reference Manual, chapter 14
)

// Protocols are all of them.
var Protocols = []Protocol{Blocks, Kitty, ITerm2, Sixel}

// Of tells the protocol of a terminal by what it and its multiplexer say in the
// environment. Nothing is asked of the terminal itself, whose answer would have to
// be waited for. Inside tmux and screen, which hand none on unasked, it is Blocks.
func Of(environment func(name string) string) Protocol {
	kind, program := environment("TERM"), environment("TERM_PROGRAM")
	switch {
	case environment("TMUX") != "" || strings.HasPrefix(kind, "screen") || strings.HasPrefix(kind, "tmux"):
		return Blocks
	case environment("KITTY_WINDOW_ID") != "" || kind == "xterm-kitty" || kind == "xterm-ghostty" || program == "ghostty":
		return Kitty
	case program == "iTerm.app" || program == "WezTerm" || environment("LC_TERMINAL") == "iTerm2":
		return ITerm2
	case strings.HasPrefix(kind, "foot") || strings.HasPrefix(kind, "mlterm") || strings.HasPrefix(kind, "contour") || strings.Contains(kind, "sixel"):
		return Sixel
	}
	return Blocks
}

// WriteKitty wraps a PNG for the graphics protocol of kitty, in chunks of 4096
// bytes; columns is how wide it is shown.
func WriteKitty(png []byte, columns int) []byte {
	const chunk = 4096
	var b bytes.Buffer
	data := base64.StdEncoding.EncodeToString(png)
	for i := 0; i < len(data); i += chunk {
		part := data[i:min(i+chunk, len(data))]
		more := 1
		if i+chunk >= len(data) {
			more = 0
		}
		if i == 0 {
			fmt.Fprintf(&b, "\x1b_Ga=T,f=100,c=%d,m=%d;%s\x1b\\", columns, more, part)
			continue
		}
		fmt.Fprintf(&b, "\x1b_Gm=%d;%s\x1b\\", more, part)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// WriteITerm2 wraps a PNG for iTerm2's inline images.
func WriteITerm2(png []byte, columns int) []byte {
	return fmt.Appendf(nil, "\x1b]1337;File=inline=1;size=%d;width=%d;preserveAspectRatio=1:%s\a\n", len(png), columns, base64.StdEncoding.EncodeToString(png))
}

// WriteSixel draws an image in sixels with 216 colours, six levels a channel.
func WriteSixel(m image.Image) []byte {
	const levels, high = 6, 6
	box := m.Bounds()
	var b bytes.Buffer
	fmt.Fprintf(&b, "\x1bPq\"1;1;%d;%d", box.Dx(), box.Dy())
	for i := range levels * levels * levels {
		fmt.Fprintf(&b, "#%d;2;%d;%d;%d", i, i/levels/levels*20, i/levels%levels*20, i%levels*20)
	}
	index := func(c color.Color) int {
		r, g, bl, _ := c.RGBA()
		near := func(v uint32) int { return int((v*(levels-1) + 0x7fff) / 0xffff) }
		return (near(r)*levels+near(g))*levels + near(bl)
	}
	band := make([]int, high*box.Dx())
	for y := box.Min.Y; y < box.Max.Y; y += high {
		var used [levels * levels * levels]bool
		for k := range high {
			for x := range box.Dx() {
				band[k*box.Dx()+x] = -1
				if y+k < box.Max.Y {
					i := index(m.At(box.Min.X+x, y+k))
					band[k*box.Dx()+x], used[i] = i, true
				}
			}
		}
		for colour, is := range used {
			if is {
				sixels(&b, band, box.Dx(), high, colour)
			}
		}
		b.WriteByte('-')
	}
	b.WriteString("\x1b\\\n")
	return b.Bytes()
}

// sixels writes one colour of a band of six rows, repeats counted.
func sixels(b *bytes.Buffer, band []int, width, high, colour int) {
	fmt.Fprintf(b, "#%d", colour)
	last, count := byte(0), 0
	flush := func() {
		if count > 3 {
			fmt.Fprintf(b, "!%d%c", count, last)
		} else {
			b.Write(bytes.Repeat([]byte{last}, count))
		}
	}
	for x := range width {
		bits := byte(0)
		for k := range high {
			if band[k*width+x] == colour {
				bits |= 1 << k
			}
		}
		if c := '?' + bits; c == last {
			count++
		} else {
			flush()
			last, count = c, 1
		}
	}
	flush()
	b.WriteByte('$')
}
