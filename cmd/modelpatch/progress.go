package main

import (
	"io"
	"os"
	"time"

	"github.com/cheggaaa/pb/v3"
	"golang.org/x/term"
)

// patience is how long a run may take before progress is shown.
const patience = time.Second

// barTemplate is what the bar shows; in a narrow terminal the bar itself goes.
const barTemplate = `{{string . "doing"}} {{percent . "%.0f%%"}} {{bar . "[" "=" ">" " " "]"}} {{counters .}}`

// progress is a bar on standard error, if that is a terminal, for runs that
// take their time.
type progress struct {
	to    io.Writer // nil: nowhere
	began time.Time
	bar   *pb.ProgressBar
}

func newProgress(c *console) *progress {
	p := &progress{began: time.Now()}
	if f, ok := c.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.to = f
	}
	return p
}

// tell is told of bytes done, of how many.
func (p *progress) tell(done, total int64) {
	if p.to == nil {
		return
	}
	if p.bar == nil {
		if time.Since(p.began) < patience {
			return
		}
		p.bar = pb.New64(total).SetTemplateString(barTemplate).SetRefreshRate(100*time.Millisecond).SetWriter(p.to).SetWidth(p.width()).
			Set(pb.Bytes, true).Set(pb.SIBytesPrefix, true).Set(pb.Terminal, true).Set(pb.Color, false).Set(pb.CleanOnFinish, true).Set("doing", "writing").Start()
	}
	p.bar.SetCurrent(done)
	if done >= total { // the sync takes longest
		p.bar.Set("doing", "waiting for the disk")
	}
}

// width is that of the terminal, 80 columns at most, or where it does not say.
func (p *progress) width() int {
	const usual = 80
	if f, ok := p.to.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return min(w, usual)
		}
	}
	return usual
}

// end takes the bar off the screen.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Finish()
	}
}
