package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/layout"
	"github.com/modelpatch/modelpatch/picture/page"
	"github.com/modelpatch/modelpatch/picture/raster"
	"github.com/modelpatch/modelpatch/picture/svg"
	"github.com/modelpatch/modelpatch/picture/terminal"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Formats of plot beside those of terminals.
const (
	formatSVG  = "svg"
	formatPNG  = "png"
	formatHTML = "html"
)

// plotFormats are all words of plot --format.
func plotFormats() []string {
	out := []string{formatSVG, formatPNG, formatHTML}
	for _, p := range terminal.Protocols {
		out = append(out, string(p))
	}
	return out
}

func newPlot(c *console) *cobra.Command {
	var p plot
	cmd := &cobra.Command{
		Use:   "plot FILE [FILE2]",
		Short: "Draw a model's position encodings",
		Long: `plot draws the numbers of a model's position encodings: for RoPE the wavelength of
each pair against the lengths that count, with the ramp of YaRN or Llama 3; for a
position table norms and similarity of its rows, rows of zeros and NaN marked;
for sinusoids dot products by distance; for ALiBi, T5 and windows the bias by
distance and head. Of two models their difference is drawn first, then both; what
does not differ stands last, and a picture ends at 1,600 pixels (HTML has all).

-o writes SVG, PNG or HTML, by the name's ending. Without it a terminal of kitty,
iTerm2 or with sixels shows the picture, any other terminal block characters, and
a pipe gets SVG, and so does -o -.`,
		Example: `  modelpatch plot model.gguf -o model.svg
  modelpatch plot model.gguf model-4x.gguf -o change.html`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := p.run(cmd.Context(), c, files); err != nil {
				c.fail(files[0], err, false)
				return &codedError{modelpatch.ExitCode(err)}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&p.output, "output", "o", "", "write this `FILE`: .svg, .png or .html")
	f.StringVar(&p.format, "format", "", "one of "+strings.Join(plotFormats(), ", ")+", in place of what the name or the terminal says")
	f.Float64Var(&p.width, "width", 0, fmt.Sprintf("width of an SVG or PNG in `PIXELS` (default %d; %d for a telephone)", layout.Width, layout.Narrow))
	f.BoolVarP(&p.force, "force", "f", false, "replace an existing output")
	takes(cmd, "format", plotFormats()...)
	p.outputs.addFlags(cmd)
	f.StringVar(&p.open.ExternalRoot, "external-root", "", "a folder in which external data of ONNX models may lie as well")
	return reading(c, cmd, &p.open)
}

// plot is the flags of the command.
type plot struct {
	output, format string
	width          float64
	force          bool
	outputs        outputs
	open           modelpatch.OpenOptions
}

func (p *plot) run(ctx context.Context, c *console, files []string) error {
	format, err := p.chosen(c)
	if err != nil {
		return err
	}
	const widest = 4000
	switch {
	case p.width != 0 && (p.width < layout.Narrow || p.width > widest):
		return &position.UsageError{What: fmt.Sprintf("--width %g: a picture is %d to %d pixels wide", p.width, layout.Narrow, widest)}
	case p.width != 0 && (format == formatHTML || format == string(terminal.Blocks)):
		return &position.UsageError{What: "--width: " + format + " is as wide as what shows it", Hint: "leave it out"}
	}
	var file *target.File
	if p.output != "" {
		if file, err = p.outputs.picture(ctx, "-o", p.output, p.force, files); err != nil {
			return err
		}
		defer file.Close()
	}
	d, err := draw(ctx, files, p.open)
	if err != nil {
		return err
	}
	if d.why != "" && format != formatHTML {
		return &position.Refusal{Why: source.ShownPath(files[0]) + ": " + d.why, Instead: "modelpatch inspect says what is known of the model"}
	}
	if most := mostHeight(format, len(files)); most > 0 {
		d.left = len(d.figures) - layout.Fit(d.figures, p.width, most)
		d.figures = d.figures[:len(d.figures)-d.left]
	}
	d.width = p.width
	content, err := d.in(format, c)
	if err != nil {
		return err
	}
	if d.left > 0 {
		c.say("modelpatch: the last %s of %d would make the picture too tall to be read, and are left out", plural(d.left, "encoding"), len(d.figures)+d.left)
		c.say("hint: --format html draws all")
	}
	if p.output == "" {
		c.out.Write(content)
		return nil
	}
	if err := complete(file, content); err != nil || target.IsStream(p.output) {
		return err
	}
	c.printf("%s: %s, %s\n", c.bold(text(p.output)), d.says(), bytesText(int64(len(content))))
	return nil
}

// mostHeight is how tall a picture may be in a format, in pixels; 0: as tall as it is. One of two models
// fits on a screen or two, what differs first.
func mostHeight(format string, models int) float64 {
	const compared = 1600
	switch {
	case format == formatHTML || format == string(terminal.Blocks):
		return 0
	case models == 2:
		return compared
	case format == formatSVG:
		return 0
	}
	return raster.MostHeight
}

// chosen is the format that was asked for, or follows from the name of the output,
// or suits where standard output goes.
func (p *plot) chosen(c *console) (string, error) {
	format := p.format
	switch {
	case format != "":
		return format, nil
	case p.output == "" && c.width == 0, target.IsStream(p.output):
		return formatSVG, nil
	case p.output == "":
		return string(terminal.Of(os.Getenv)), nil
	}
	switch end := strings.ToLower(filepath.Ext(p.output)); end {
	case ".svg", ".png", ".html":
		return end[1:], nil
	case ".htm":
		return formatHTML, nil
	default:
		return "", &position.UsageError{What: fmt.Sprintf("-o %s: its ending tells the format, and is none of .svg, .png and .html", text(p.output)), Hint: "give --format as well"}
	}
}

// drawn is what was drawn of one model or two.
type drawn struct {
	title   string
	reports []report.Inspect
	figures []figure.Figure
	why     string  // there are no figures; "" where there are
	left    int     // figures that were left out
	width   float64 // of the picture; 0: the usual one
}

// draw opens models and makes their figures. A model with nothing to draw is none of
// its errors.
func draw(ctx context.Context, files []string, o modelpatch.OpenOptions) (d drawn, err error) {
	var models []position.Model
	var names []string
	for _, path := range files {
		m, r, err := source.OpenInspected(ctx, path, source.Options(o))
		if err != nil {
			return d, err
		}
		r.Path = report.Name(filepath.Base(source.ShownPath(path))) // a page is sent to others, whom our folders do not concern
		d.reports, names = append(d.reports, r), append(names, r.Path)
		if m == nil {
			d.why = "what comes from a pipe or is compressed is not drawn: unpack it to a file first"
			continue
		}
		defer m.Close()
		models = append(models, m)
	}
	d.title = strings.Join(names, " and ")
	switch {
	case d.why != "":
		return d, nil
	case len(models) == 2:
		d.figures, err = picture.Compare(models[0], names[0], models[1], names[1], picture.Options{})
	default:
		d.figures, err = picture.Of(models[0], names[0], picture.Options{})
	}
	for _, m := range models {
		if lost := source.ReadError(m); lost != nil {
			return d, lost
		}
	}
	if n, ok := errors.AsType[*picture.Nothing](err); ok {
		d.why, err = n.Error(), nil
	}
	return d, err
}

// says is what was drawn, in a few words.
func (d drawn) says() string {
	if d.why != "" {
		return d.why
	}
	panels := 0
	for _, f := range d.figures {
		panels += len(f.Panels)
	}
	return fmt.Sprintf("%s of %s", plural(panels, "chart"), plural(len(d.figures), "encoding"))
}

// in is the figures in a format.
func (d drawn) in(format string, c *console) ([]byte, error) {
	columns := terminal.Columns
	if c.width > 0 {
		columns = min(columns, c.width)
	}
	switch format {
	case formatSVG:
		return svg.Write(d.figures, svg.Options{Width: d.width}), nil
	case formatHTML:
		return page.Write(page.Content{Title: d.title, Version: version(), Reports: d.reports, Figures: d.figures, Why: d.why})
	case string(terminal.Blocks):
		return []byte(terminal.WriteBlocks(d.figures, c.color)), nil
	case string(terminal.Sixel):
		return terminal.WriteSixel(raster.Image(d.figures, raster.Options{Scale: 1, Width: d.width})), nil
	}
	content, err := raster.PNG(d.figures, raster.Options{Width: d.width})
	switch {
	case err != nil:
		return nil, err
	case format == string(terminal.Kitty):
		return terminal.WriteKitty(content, columns), nil
	case format == string(terminal.ITerm2):
		return terminal.WriteITerm2(content, columns), nil
	}
	return content, nil
}
