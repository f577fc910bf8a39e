package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// patience is how long a run may take before progress is shown.
const patience = time.Second

// progress is a bar on standard error, if that is a terminal, for runs that
// take their time.
type progress struct {
	to    io.Writer // nil: nowhere
	began time.Time
	bar   *progressbar.ProgressBar
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
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.to),
			progressbar.OptionSetDescription("writing"),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionEnableColorCodes(false),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}),
		)
	}
	if done >= total {
		p.bar.Describe("waiting for the disk")
		done = total - 1 // or the bar would go, and the sync takes longest
	}
	_ = p.bar.Set64(done)
}

// end takes the bar off the screen.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
